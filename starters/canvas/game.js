// Paper Boat: a game on a canvas, with a leaderboard of the platform.
import { board } from '/__service/scores.js'

// The river has this size on every screen. `draw` scales it.
const WIDTH = 400
const HEIGHT = 640
const canvas = document.querySelector('#river')
const pen = canvas.getContext('2d')
const menu = document.querySelector('#menu')
const soundButton = document.querySelector('#sound')
const boat = { x: WIDTH / 2, y: HEIGHT - 110, lean: 0 }

let things = [] // Rocks and lanterns: { rock, x, y, size }
let score = 0
let speed = 0 // Pixels a second.
let distance = 0 // How far the boat has come, in pixels.
let nextThing = 0 // The distance at which the next thing appears.
let playing = false

// --- The game ---
document.querySelector('#play').addEventListener('click', start)
function start() {
  things = []
  score = 0
  speed = 200
  distance = 0
  nextThing = 0
  boat.x = WIDTH / 2
  playing = true
  menu.hidden = true
}

function move(seconds) {
  const turn = steering()
  boat.lean += (turn - boat.lean) * seconds * 10
  boat.x = between(24, boat.x + turn * 330 * seconds, WIDTH - 24)
  speed += 5 * seconds
  distance += speed * seconds
  if (distance > nextThing) {
    const rock = Math.random() < 0.6
    things.push({ rock, size: rock ? 18 + Math.random() * 22 : 13, x: 30 + Math.random() * (WIDTH - 60), y: -50 })
    nextThing = distance + 90 + Math.random() * 50
  }
  for (const thing of things) thing.y += speed * seconds
  const touched = things.find(({ x, y, size }) => Math.hypot(x - boat.x, y - boat.y) < size + 15)
  if (touched?.rock) return end()
  if (touched) {
    score += 1
    tone(500 + (score % 8) * 60, 0.2)
  }
  things = things.filter((thing) => thing !== touched && thing.y < HEIGHT + 50)
}

async function end() {
  playing = false
  menu.hidden = false
  document.querySelector('#play').focus()
  tone(110, 0.7)
  say(`A rock! Lanterns: ${score}.`)
  // Nobody is signed in, or there is no connection: the game goes on without the board.
  const result = await board('lanterns')
    .submit(score)
    .catch(() => null)
  if (result) say(`A rock! Lanterns: ${score}. You are number ${result.rank} of ${result.total}.`)
}

const say = (text) => (document.querySelector('#say').textContent = text)
const between = (least, value, most) => Math.min(most, Math.max(least, value))

// --- Steering by keyboard, finger, mouse or gamepad ---
const keys = new Set() // The keys that are down.
let target = null // Where the finger is, in pixels of the river.

/** From -1, left, to 1, right. */
function steering() {
  const right = keys.has('ArrowRight') || keys.has('KeyD')
  const left = keys.has('ArrowLeft') || keys.has('KeyA')
  const stick = gamepad()?.axes[0] ?? 0
  const finger = target === null ? 0 : (target - boat.x) / 25
  return between(-1, right - left + (Math.abs(stick) > 0.2 ? stick : 0) + finger, 1)
}

const gamepad = () => navigator.getGamepads().find(Boolean)

addEventListener('keydown', ({ code, repeat }) => {
  keys.add(code)
  if (code === 'KeyM' && !repeat) soundButton.click()
})
addEventListener('keyup', ({ code }) => keys.delete(code))
addEventListener('blur', () => keys.clear())
for (const type of ['pointerdown', 'pointermove', 'pointerup', 'pointercancel']) {
  canvas.addEventListener(type, ({ clientX, buttons }) => {
    target = buttons > 0 ? (clientX - leftBank()) / scale() : null
  })
}

// --- Sound ---
let audio
function tone(pitch, seconds) {
  if (soundButton.ariaPressed !== 'true') return
  audio ??= new AudioContext()
  const oscillator = new OscillatorNode(audio, { type: 'triangle', frequency: pitch })
  const volume = new GainNode(audio, { gain: 0.25 })
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + seconds)
  oscillator.connect(volume).connect(audio.destination)
  oscillator.start()
  oscillator.stop(audio.currentTime + seconds)
}

soundButton.addEventListener('click', () => {
  soundButton.ariaPressed = String(soundButton.ariaPressed !== 'true')
  soundButton.textContent = soundButton.ariaPressed === 'true' ? 'Sound' : 'Muted'
})

// --- Drawing ---
const scale = () => Math.min(innerHeight / HEIGHT, innerWidth / WIDTH)
const leftBank = () => (innerWidth - WIDTH * scale()) / 2

function draw() {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches
  canvas.width = innerWidth * devicePixelRatio
  canvas.height = innerHeight * devicePixelRatio
  pen.scale(devicePixelRatio, devicePixelRatio)
  pen.translate(leftBank(), innerHeight - HEIGHT * scale())
  pen.scale(scale(), scale())
  fill(dark ? '#1d3a4a' : '#b9dcdf', [0, -HEIGHT], [WIDTH, -HEIGHT], [WIDTH, HEIGHT], [0, HEIGHT])
  for (const { rock, x, y, size } of things) {
    const colour = rock ? (dark ? '#646a75' : '#8b867b') : '#ffc94d'
    if (!rock) disc(x, y, size * 2, '#ffc94d55')
    disc(x, y, size, colour)
    disc(x - size / 4, y - size / 4, size / 2, '#ffffff55')
  }
  pen.translate(boat.x, boat.y)
  pen.rotate(boat.lean * 0.35)
  fill('#fffdf8', [0, -34], [20, 22], [-20, 22])
  fill('#e2d9c8', [0, -34], [20, 22], [0, 22])
}

function disc(x, y, radius, colour) {
  pen.fillStyle = colour
  pen.beginPath()
  pen.arc(x, y, radius, 0, Math.PI * 2)
  pen.fill()
}

function fill(colour, ...corners) {
  pen.fillStyle = colour
  pen.beginPath()
  for (const [x, y] of corners) pen.lineTo(x, y)
  pen.fill()
}

let before = performance.now()
function frame(now) {
  const seconds = Math.min(0.05, (now - before) / 1000) // At most, so that nothing jumps after a pause.
  before = now
  if (!playing && gamepad()?.buttons[0].pressed) start()
  if (playing) move(seconds)
  document.querySelector('#score').textContent = score
  draw()
  requestAnimationFrame(frame)
}
requestAnimationFrame(frame)
