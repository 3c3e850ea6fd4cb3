import type { Document, Node } from '@gltf-transform/core'
import { vrmBones } from './vrm.ts'

export const SIDES = ['left', 'right'] as const
export type Side = (typeof SIDES)[number]

/** The bones of a limb from the trunk outwards. A simple rig may lack some. */
export interface Limb {
  upper: Node
  /** Null if the limb is one bone. */
  lower: Node | null
  /** Foot or hand; null if the rig has none. */
  end: Node | null
}

/** Returns the last bone of a limb before its foot or hand. */
export const lastOf = ({ lower, upper }: Limb): Node => lower ?? upper

/** The bones of a humanoid that the clips move. */
export interface Humanoid {
  hips: Node
  /** The bones above the hips, up to the bone that carries the arms. */
  spine: Node[]
  /** The bones from there to the head, the head last; may be empty. */
  neck: Node[]
  legs: Record<Side, Limb>
  arms: Record<Side, Limb>
}

type Part = 'upperLeg' | 'lowerLeg' | 'foot' | 'upperArm' | 'lowerArm' | 'hand'

/** The names of limb bones in the common conventions, without side and separators. */
const PARTS: Record<Part, RegExp> = {
  upperLeg: /^(?:upleg|upperleg|thigh|legupper|upperleg01)$/,
  lowerLeg: /^(?:leg|lowerleg|shin|calf|knee|leglower|lowerleg01)$/,
  foot: /^(?:foot|ankle)$/,
  upperArm: /^(?:arm|upperarm|armupper|uparm|upperarm01)$/,
  lowerArm: /^(?:forearm|lowerarm|armlower|elbow|lowerarm01)$/,
  hand: /^(?:hand|wrist)$/,
}

/** Prefixes that exporters and tools add to every bone. */
const PREFIX = /^(?:mixamorig\d*[:_]?|j_bip_|bip\d*[ _]?|def[-_]|org[-_]|armature[|_:]|bone_|b_|rig[|:_])/i

/** Splits a bone's name into side and rest: `mixamorig:LeftUpLeg` → left, `upleg`; `thigh.L` → left, `thigh`. */
export function readName(name: string): { side: Side | null; base: string } {
  let rest = name
  for (let before = ''; before !== rest; ) {
    before = rest
    rest = rest.replace(PREFIX, '')
  }
  // Blender numbers nodes of the same name. A copy is not the bone itself.
  const word = /left|right/i.exec(rest)
  if (word) {
    const side = word[0].toLowerCase() as Side
    return { side, base: plain(rest.slice(0, word.index) + rest.slice(word.index + word[0].length)) }
  }
  const letter = /^([lr])[ ._-]+(?=.)|[ ._-]([lr])(?:$|(?=[._ -]))/i.exec(rest) ?? /(?<=[a-z])([LR])$/.exec(rest)
  if (letter) {
    const side = (letter[1] ?? letter[2])?.toLowerCase() === 'l' ? 'left' : 'right'
    return { side, base: plain(rest.slice(0, letter.index) + rest.slice(letter.index + letter[0].length)) }
  }
  return { side: null, base: plain(rest) }
}

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]+/g, '')

/**
 * Finds the bones of a humanoid by the map of a VRM, else by their names, and by the hierarchy: the hips are where the legs meet, the chest is
 * where the arms meet. It knows the names of Mixamo, VRM, Rigify, Unreal and Ready Player Me, and similar ones.
 *
 * Where the trunk is one bone, that bone is both hips and chest. Hands, feet, forearms and shins may be missing.
 *
 * @returns null when a leg or an arm is missing, or related bones are not connected
 */
export function findHumanoid(document: Document): Humanoid | null {
  const joints = jointsOf(document)
  const vrm = vrmBones(document)
  const named = new Map<string, Node>()
  for (const side of SIDES) {
    for (const part of Object.keys(PARTS) as Part[]) {
      const bone = vrm.get(`${side}${part.charAt(0).toUpperCase()}${part.slice(1)}`)
      if (bone && joints.has(bone)) named.set(`${side} ${part}`, bone)
    }
  }
  for (const joint of joints) {
    const { side, base } = readName(joint.getName())
    const part = side && (Object.keys(PARTS) as Part[]).find((name) => PARTS[name].test(base))
    // The first of several is used: deforming bones precede their control copies.
    if (part && !named.has(`${side} ${part}`)) named.set(`${side} ${part}`, joint)
  }
  const limb = (side: Side, parts: [upper: Part, lower: Part, end: Part]): Limb | null => {
    const [first, second, end = null] = parts.map((part) => named.get(`${side} ${part}`))
    // A limb of one bone has the name of the lower of two bones.
    const upper = first ?? second
    if (!upper) return null
    const lower = second && second !== upper ? second : null
    if (lower && !isBelow(lower, upper)) return null
    // A foot outside the limb's hierarchy, such as a control, would not follow the limb.
    return end && !isBelow(end, lower ?? upper) ? null : { upper, lower, end }
  }
  const both = (...parts: [Part, Part, Part]): Record<Side, Limb> | null => {
    const [left, right] = SIDES.map((side) => limb(side, parts))
    return left && right ? { left, right } : null
  }
  const legs = both('upperLeg', 'lowerLeg', 'foot')
  const arms = both('upperArm', 'lowerArm', 'hand')
  const pelvis = legs && meeting(legs.left.upper, legs.right.upper)
  const chest = arms && meeting(arms.left.upper, arms.right.upper)
  if (!legs || !arms || !pelvis || !chest) return null
  // If the spine is a sibling of the pelvis, the hips are their common ancestor.
  const hips = pelvis === chest || isBelow(chest, pelvis) ? pelvis : meeting(pelvis, chest)
  if (!hips || !joints.has(hips)) return null
  const own = vrm.get('head')
  const head = own && joints.has(own) && isBelow(own, chest) ? own : headAbove(chest, joints)
  return { hips, spine: between(hips, chest), neck: head ? between(chest, head) : [], legs, arms }
}

/**
 * Returns the bones of a document: the joints of its skins. A library of clips has no skin, so all its nodes are bones.
 */
export function jointsOf(document: Document): Set<Node> {
  const root = document.getRoot()
  const skins = root.listSkins()
  return new Set(skins.length > 0 ? skins.flatMap((skin) => skin.listJoints()) : root.listNodes())
}

/** Finds the joint named head, or the end of the spine's own chain, which is Rigify's convention. */
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

/** Returns the ancestors of a node, the nearest first. */
export function ancestors(node: Node): Node[] {
  const path: Node[] = []
  for (let at: Node | null = node.getParentNode(); at; at = at.getParentNode()) path.push(at)
  return path
}

const isBelow = (node: Node, ancestor: Node): boolean => ancestors(node).includes(ancestor)

/** Returns the lowest common ancestor of two nodes. */
function meeting(a: Node, b: Node): Node | null {
  const above = ancestors(b)
  return ancestors(a).find((node) => above.includes(node)) ?? null
}

/** Returns the nodes from below `top` to `bottom`, in that order, `bottom` included. */
function between(top: Node, bottom: Node): Node[] {
  if (top === bottom) return []
  const path = [bottom, ...ancestors(bottom)]
  return path.slice(0, path.indexOf(top)).reverse()
}
