// How a test plays each starter: what a player does, and what the page then shows. Chance is `window.luck`, so that a
// scene is the same every time.

/** The hands and eyes of a player at an open starter. */
export interface Player {
  /** Evaluates an expression in the page, for its effect. */
  run(expression: string): Promise<unknown>
  /** Evaluates an expression in the page, for its value. */
  read(expression: string): Promise<unknown>
  /** Waits until an expression is true in the page. */
  see(expression: string): Promise<unknown>
  /** Holds a key down, by its code. */
  hold(code: string): Promise<void>
  release(code: string): Promise<void>
  /** Puts a finger on the element of a selector, at a part of its width and height. */
  touch(selector: string, x: number, y: number): Promise<void>
  lift(): Promise<void>
  /** Whether keys and touches come from the system, not from a script of the page. */
  trusted: boolean
  reload(): Promise<void>
}

/** Replaces chance; the scenes set `window.luck`. */
export const WITH_LUCK = 'Math.random = () => window.luck ?? 0.5'

const says = (text: string) => `document.querySelector('#say').textContent.includes(${JSON.stringify(text)})`
const points = (least: number) => `Number(document.querySelector('#score').textContent) >= ${least}`
const PLAYING = "document.querySelector('#menu').hidden"
const ENDED = `!${PLAYING}`
const PLAY = "document.querySelector('#play').click()"
/**
 * What the game has saved is on the server. A page that is left before sends it again, and the server answers that it is
 * older than what is there.
 */
const SENT =
  "import('/__service/saves.js').then(({ saves }) => saves.get('progress').then(() => saves.status === 'saved'))"

/** A gamepad with its first button pressed or not, and its left stick from -1, left and up, to 1, right and down. */
const gamepad = ({ pressed = false, x = 0, y = 0 }) => `navigator.getGamepads = () => [{
  id: 'pad', index: 0, mapping: 'standard', connected: true, timestamp: performance.now(), axes: [${x}, ${y}, 0, 0],
  buttons: Array.from({ length: 17 }, (_, button) => ({ pressed: ${pressed} && button === 0, value: Number(${pressed} && button === 0) })) }]`

/** By starter. The player's name is Ada, and she is signed in. */
export const SCENES: Record<string, (player: Player) => Promise<void>> = {
  async page(player) {
    await player.see(says('Hello Ada'))
    await player.run('window.luck = 0.3')
    await player.run(PLAY)
    await player.see(says('Round 1: now Ada'))
    await player.hold('ArrowRight')
    await player.release('ArrowRight')
    await player.see(says('Round 2: now Ada'))
    for (const _ of [1, 2]) {
      await player.touch('[data-pad="1"]', 0.5, 0.5)
      await player.lift()
    }
    await player.see(says('Round 3: now Ada'))
    // Its first button is the lower pad, which is another note.
    await player.run(gamepad({ pressed: true }))
    await player.see(says('Ada played 2 rounds'))
  },

  async canvas(player) {
    // Lanterns only, at the right bank.
    await player.run('window.luck = 0.98')
    await player.run(PLAY)
    await player.hold('ArrowRight')
    await player.see(points(1))
    await player.release('ArrowRight')
    // Lanterns in the middle of the right half.
    await player.run('window.luck = 0.7')
    await player.touch('#river', ...(await onRiver(player, 268)))
    await player.see(points(2))
    // Rocks in the middle.
    await player.run('window.luck = 0.5')
    await player.touch('#river', ...(await onRiver(player, 200)))
    await player.see(`${ENDED} && ${says('You are number 1 of 1')}`)
    await player.lift()
    await player.see("document.querySelector('gameyard-board').shadowRoot.textContent.includes('Ada')")
    await player.run(`window.luck = 0.98, ${gamepad({ pressed: true, x: 1 })}`)
    await player.see(points(1))
  },

  async phaser(player) {
    await player.see("!document.querySelector('#play').disabled")
    await player.run(PLAY)
    // The clouds are above each other, and the hopper needs no steering.
    await player.see(points(3))
    await player.hold('ArrowRight')
    await player.see(ENDED)
    await player.release('ArrowRight')
    await player.run('window.luck = 0.9')
    await player.run(PLAY)
    if (player.trusted) {
      await player.touch('canvas', 320 / 400, 0.5)
      await player.see(points(6))
      await player.lift()
    }
    await player.hold('ArrowLeft')
    await player.see(ENDED)
    await player.release('ArrowLeft')
    await player.see(says('Best: '))
    await player.see(SENT)
    await player.reload()
    await player.see(says('Welcome back!'))
    await player.run(`window.luck = 0.5, ${WITH_LUCK}, ${gamepad({ pressed: true })}`)
    await player.see(PLAYING)
    // Off the clouds, which are above each other.
    await player.run(gamepad({ x: 1 }))
    await player.see(ENDED)
    await player.see(SENT)
  },

  async three(player) {
    // Rings at the upper right. The keys are down before the flight begins, since three misses end it.
    await player.run('window.luck = 0.98')
    await player.hold('ArrowRight')
    await player.hold('ArrowUp')
    await player.run(PLAY)
    await player.see(points(1))
    await player.release('ArrowRight')
    await player.release('ArrowUp')
    await player.touch('#sky', 0.1, 0.9)
    await player.see(`${ENDED} && ${says('Today you are number 1 of 1')}`)
    await player.lift()
    await player.run(`window.luck = 0.98, ${gamepad({ pressed: true, x: 1, y: -1 })}`)
    await player.see(PLAYING)
    await player.see(`${PLAYING} && ${points(1)}`)
  },

  async rooms(player) {
    await player.see(says('Send a friend the address'))
    // Elsewhere the fireflies are at random places.
    if (!player.trusted) return
    await player.run(gamepad({ x: 1 }))
    await player.see("/^Ada [1-9]/.test(document.querySelector('#points').textContent)")
  },

  async authority(player) {
    await player.see("document.querySelector('#points').textContent.startsWith('Ada 0')")
    await player.hold('ArrowRight')
    await player.see("Object.values(room.state.get('players'))[0].x > 500")
    await player.release('ArrowRight')
    await player.run(gamepad({ x: -1 }))
    await player.see("Object.values(room.state.get('players'))[0].x < 100")
    await player.run(gamepad({}))
    const [x, y] = (await player.read("Object.values(room.state.get('coins')[0])")) as [number, number]
    await player.touch('#field', x / 600, y / 600)
    await player.see("/^Ada [1-9]/.test(document.querySelector('#points').textContent)")
    await player.lift()
    // A round takes a minute, which is longer than the drivers of other engines wait.
    if (player.trusted) await player.see(says('Your best is'))
  },
}

/** Where a place of the river of 400 is on the screen, as parts of the canvas. */
async function onRiver(player: Player, x: number): Promise<[number, number]> {
  const part = await player.read(`(() => {
    const scale = Math.min(innerHeight / 640, innerWidth / 400)
    return ((innerWidth - 400 * scale) / 2 + ${x} * scale) / innerWidth
  })()`)
  return [part as number, 0.8]
}
