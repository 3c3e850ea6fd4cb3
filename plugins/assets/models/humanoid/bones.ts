import type { Document, Node } from '@gltf-transform/core'

export const SIDES = ['left', 'right'] as const
export type Side = (typeof SIDES)[number]

/** The bones of a limb from the trunk outwards. */
export interface Limb {
  upper: Node
  lower: Node
  /** Foot or hand. */
  end: Node
}

/** The bones of a humanoid that the clips move. */
export interface Humanoid {
  hips: Node
  /** From above the hips to the bone that carries the arms. */
  spine: Node[]
  /** From above that to the head, the head last; may be empty. */
  neck: Node[]
  legs: Record<Side, Limb>
  arms: Record<Side, Limb>
}

type Part = 'upperLeg' | 'lowerLeg' | 'foot' | 'upperArm' | 'lowerArm' | 'hand'

/** What a bone of a limb is called when its side and separators are off, in the common conventions. */
const PARTS: Record<Part, RegExp> = {
  upperLeg: /^(?:upleg|upperleg|thigh|legupper|upperleg01)$/,
  lowerLeg: /^(?:leg|lowerleg|shin|calf|knee|leglower|lowerleg01)$/,
  foot: /^(?:foot|ankle)$/,
  upperArm: /^(?:arm|upperarm|armupper|uparm|upperarm01)$/,
  lowerArm: /^(?:forearm|lowerarm|armlower|elbow|lowerarm01)$/,
  hand: /^(?:hand|wrist)$/,
}

/** Words that exporters and tools put before every bone. */
const PREFIX = /^(?:mixamorig\d*[:_]?|j_bip_|bip\d*[ _]?|def[-_]|org[-_]|armature[|_:]|bone_|b_|rig[|:_])/i

/** A bone's side and what remains of its name: `mixamorig:LeftUpLeg` → left, `upleg`; `thigh.L` → left, `thigh`. */
export function readName(name: string): { side: Side | null; base: string } {
  let rest = name
  for (let before = ''; before !== rest; ) {
    before = rest
    rest = rest.replace(PREFIX, '')
  }
  // Blender numbers what has the same name; a copy is not the bone itself.
  const word = /left|right/i.exec(rest)
  if (word) {
    const side = word[0].toLowerCase() as Side
    return { side, base: plain(rest.slice(0, word.index) + rest.slice(word.index + word[0].length)) }
  }
  const letter = /^([lr])[ ._-]+(?=.)|[ ._-]([lr])(?:$|(?=[._ -]))/i.exec(rest)
  if (letter) {
    const side = (letter[1] ?? letter[2])?.toLowerCase() === 'l' ? 'left' : 'right'
    return { side, base: plain(rest.slice(0, letter.index) + rest.slice(letter.index + letter[0].length)) }
  }
  return { side: null, base: plain(rest) }
}

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]+/g, '')

/**
 * Finds the bones of a humanoid by their names and by who hangs on whom: the hips are where the legs meet, the chest is
 * where the arms meet. Knows the names of Mixamo, VRM, Rigify, Unreal and Ready Player Me, and others like them.
 *
 * @returns null when legs or arms are not all there
 */
export function findHumanoid(document: Document): Humanoid | null {
  const joints = new Set(
    document
      .getRoot()
      .listSkins()
      .flatMap((skin) => skin.listJoints()),
  )
  if (joints.size === 0) return null
  const named = new Map<string, Node>()
  for (const joint of joints) {
    const { side, base } = readName(joint.getName())
    const part = side && (Object.keys(PARTS) as Part[]).find((name) => PARTS[name].test(base))
    // Of several, the first: deforming bones come before their copies for control.
    if (part && !named.has(`${side} ${part}`)) named.set(`${side} ${part}`, joint)
  }
  const limb = (side: Side, upper: Part, lower: Part, end: Part): Limb | null => {
    const [first, second, third] = [upper, lower, end].map((part) => named.get(`${side} ${part}`))
    if (!first || !second || !third) return null
    return isBelow(second, first) && isBelow(third, second) ? { upper: first, lower: second, end: third } : null
  }
  const both = (upper: Part, lower: Part, end: Part): Record<Side, Limb> | null => {
    const [left, right] = SIDES.map((side) => limb(side, upper, lower, end))
    return left && right ? { left, right } : null
  }
  const legs = both('upperLeg', 'lowerLeg', 'foot')
  const arms = both('upperArm', 'lowerArm', 'hand')
  const hips = legs && meeting(legs.left.upper, legs.right.upper)
  const chest = arms && meeting(arms.left.upper, arms.right.upper)
  if (!legs || !arms || !hips || !chest || !joints.has(hips) || !isBelow(chest, hips)) return null
  const head = headAbove(chest, joints)
  return { hips, spine: between(hips, chest), neck: head ? between(chest, head) : [], legs, arms }
}

/** The joint called head, or the end of the spine's own chain, as Rigify names it. */
function headAbove(chest: Node, joints: ReadonlySet<Node>): Node | null {
  for (const joint of joints) {
    if (/^head$/.test(readName(joint.getName()).base) && isBelow(joint, chest)) return joint
  }
  let at = chest
  for (;;) {
    const next = at
      .listChildren()
      .find((child) => joints.has(child) && /^(?:spine|neck)\d*$/.test(readName(child.getName()).base))
    if (!next) return at === chest ? null : at
    at = next
  }
}

function ancestors(node: Node): Node[] {
  const path: Node[] = []
  for (let at: Node | null = node.getParentNode(); at; at = at.getParentNode()) path.push(at)
  return path
}

const isBelow = (node: Node, ancestor: Node): boolean => ancestors(node).includes(ancestor)

/** The lowest node that both hang on. */
function meeting(a: Node, b: Node): Node | null {
  const above = ancestors(b)
  return ancestors(a).find((node) => above.includes(node)) ?? null
}

/** The nodes from below `top` to `bottom`, in that order, `bottom` included. */
function between(top: Node, bottom: Node): Node[] {
  if (top === bottom) return []
  const path = [bottom, ...ancestors(bottom)]
  return path.slice(0, path.indexOf(top)).reverse()
}
