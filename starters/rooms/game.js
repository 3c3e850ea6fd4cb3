// Fireflies: a game for everybody in a room. Positions are messages, fireflies and points are shared state.
import { join } from '/__service/multiplayer.js'

const SIZE = 600 // The meadow is a square, on every screen.
const ENOUGH = 10 // The first player with so many fireflies wins the round.
const COLOURS = ['#ff8f6b', '#6ecfb0', '#8fb8ff', '#d9a6ff', '#ffe08a', '#ff9ecb']
const canvas = document.querySelector('#meadow')
const pen = canvas.getContext('2d')
Object.assign(pen, { font: '600 16px system-ui, sans-serif', textAlign: 'center' })
const soundButton = document.querySelector('#sound')
const say = (text) => (document.querySelector('#say').textContent = text)
const newFly = () => ({ x: 40 + Math.random() * (SIZE - 80), y: 40 + Math.random() * (SIZE - 80) })
const between = (least, value, most) => Math.min(most, Math.max(least, value))

/** The room, once we are in it. Until then one plays alone. */
let room = null
const me = { id: 'me', name: 'You', index: 0, x: 100 + Math.random() * 400, y: 100 + Math.random() * 400 }
/** Where the other players are, by their id. */
const places = new Map()
/** The state of the game. In a room the platform keeps it, and everybody has the same. */
let round = newRound()
/** The version of the state that we last asked to change. */
let asked = null

function newRound() {
  return { flies: Array.from({ length: 6 }, newFly), points: {} }
}

// --- The room ---
const session = await fetch('/auth/service/session').then((answer) => answer.json())
if (session.signedIn) await enter().catch((error) => say(error.message))
else say('You play alone. Sign in to meet the others.')

async function enter() {
  room = await join('meadow')
  Object.assign(me, { id: room.me.id, name: room.me.name, index: room.me.index })
  // The first player brings the fireflies. Others find them here.
  if (room.state.has('round')) round = room.state.get('round')
  else room.state.set('round', round)
  room.on('state', () => {
    const points = countAll(room.state.get('round'))
    if (points !== countAll(round)) tone(400 + (points % 8) * 60, 0.25)
    round = room.state.get('round')
  })
  room.on('binary', (bytes, from) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    places.set(from.id, { x: view.getUint16(0), y: view.getUint16(2) })
  })
  room.on('leave', (player) => places.delete(player.id))
  room.on('reconnecting', () => say('The connection is lost. One moment…'))
  room.on('left', (reason) => say(`You are out of the room (${reason}). Reload the page to come back.`))
  for (const event of ['join', 'leave', 'reconnected']) room.on(event, greet)
  greet()
  setInterval(tellPlace, 50)
}

function greet() {
  const others = room.players.filter(({ id }) => id !== me.id).map(({ name }) => name)
  say(others.length > 0 ? `You are here with ${others.join(', ')}.` : 'You are the first. Send a friend the address!')
}

/** Tells the others where we are, as four bytes. That is small enough for twenty times a second. */
function tellPlace() {
  const view = new DataView(new ArrayBuffer(4))
  view.setUint16(0, me.x)
  view.setUint16(2, me.y)
  room.sendBinary(view.buffer)
}

// --- The game ---
const countAll = ({ points }) => Object.values(points).reduce((sum, some) => sum + some, 0)

function move(seconds) {
  const { x, y } = steering()
  me.x = between(14, me.x + x * 320 * seconds, SIZE - 14)
  me.y = between(14, me.y + y * 320 * seconds, SIZE - 14)
  const caught = round.flies.findIndex((fly) => Math.hypot(fly.x - me.x, fly.y - me.y) < 30)
  if (caught >= 0) take(caught)
}

function take(caught) {
  const points = { ...round.points, [me.id]: (round.points[me.id] ?? 0) + 1 }
  const next = { ...round, flies: round.flies.with(caught, newFly()), points }
  if (points[me.id] >= ENOUGH) Object.assign(next, newRound(), { winner: me.name })
  if (!room) {
    round = next
    tone(400 + (points[me.id] % 8) * 60, 0.25)
  } else if (asked !== room.state.version) {
    // With `if` the change counts only when nobody was faster. Either way the event `state` follows.
    asked = room.state.version
    room.state.set('round', next, { if: asked })
  }
}

// --- Steering by keyboard, finger, mouse or gamepad ---
const keys = new Set() // The keys that are down.
let finger = null // Where it is on the meadow.

function steering() {
  const down = (...codes) => codes.some((code) => keys.has(code))
  const sticks = navigator.getGamepads().find(Boolean)?.axes ?? []
  const [stickX = 0, stickY = 0] = sticks.map((axis) => (Math.abs(axis) > 0.2 ? axis : 0))
  const [fingerX, fingerY] = finger ? [(finger.x - me.x) / 20, (finger.y - me.y) / 20] : [0, 0]
  return {
    x: between(-1, down('ArrowRight', 'KeyD') - down('ArrowLeft', 'KeyA') + stickX + fingerX, 1),
    y: between(-1, down('ArrowDown', 'KeyS') - down('ArrowUp', 'KeyW') + stickY + fingerY, 1),
  }
}

addEventListener('keydown', (event) => {
  keys.add(event.code)
  if (event.code.startsWith('Arrow')) event.preventDefault()
  if (event.code === 'KeyM' && !event.repeat) soundButton.click()
})
addEventListener('keyup', ({ code }) => keys.delete(code))
addEventListener('blur', () => keys.clear())
for (const type of ['pointerdown', 'pointermove', 'pointerup', 'pointercancel']) {
  canvas.addEventListener(type, ({ offsetX, offsetY, buttons }) => {
    const scale = SIZE / canvas.clientWidth
    finger = buttons > 0 ? { x: offsetX * scale, y: offsetY * scale } : null
  })
}

// --- Sound ---
let audio
function tone(pitch, seconds) {
  // Browsers allow sound after the first key or touch.
  if (soundButton.ariaPressed !== 'true' || !navigator.userActivation.hasBeenActive) return
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

// --- Every frame ---
function disc(x, y, radius, colour) {
  pen.fillStyle = colour
  pen.beginPath()
  pen.arc(x, y, radius, 0, Math.PI * 2)
  pen.fill()
}

let before = performance.now()
function frame(now) {
  move(Math.min(0.05, (now - before) / 1000)) // At most, so that nothing jumps after a pause.
  before = now
  pen.clearRect(0, 0, SIZE, SIZE)
  for (const { x, y } of round.flies) {
    disc(x, y, 16 + 4 * Math.sin(now / 300 + x), '#ffd86633')
    disc(x, y, 7, '#ffe9a8')
  }
  const others = (room?.players ?? []).filter(({ id }) => places.has(id) && id !== me.id)
  const everybody = [...others.map((player) => ({ ...player, ...places.get(player.id) })), me]
  for (const { x, y, name, index } of everybody) {
    disc(x, y, 14, COLOURS[index % COLOURS.length])
    pen.fillText(name, between(40, x, SIZE - 40), y < 50 ? y + 34 : y - 22)
  }
  const points = everybody.map(({ name, id }) => `${name} ${round.points[id] ?? 0}`).join(', ')
  const winner = round.winner ? `${round.winner} has won the last round.` : `The first with ${ENOUGH} wins.`
  document.querySelector('#points').textContent = `${points}. ${winner}`
  requestAnimationFrame(frame)
}
requestAnimationFrame(frame)
