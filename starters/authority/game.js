// Coin Rush in the browser: it says where its player wants to go, and draws what the script of the room decides.
import { join } from '/__service/multiplayer.js'

const SIZE = 600
const COLOURS = ['#e2673f', '#2f8f72', '#4a72c9', '#9a5fc4', '#b88a1a', '#c9537f']
const canvas = document.querySelector('#field')
const pen = Object.assign(canvas.getContext('2d'), { font: '600 16px system-ui, sans-serif', textAlign: 'center' })
const soundButton = document.querySelector('#sound')
const say = (text) => (document.querySelector('#say').textContent = text)
let told = '' // What we last told the script.
const room = await join('field').catch((error) => say(error.message))
if (room.state) {
  globalThis.room = room // For you to look at in the console of the browser.
  room.on('message', (_end, { points, best }) =>
    say(`You collected ${points} coins in this round. Your best is ${best}.`),
  )
  room.on('state', ({ coins }) => coins && tone())
  room.on('reconnecting', () => say('The connection is lost. One moment…'))
  room.on('reconnected', () => (told = say('You are back on the field.'))) // So we tell our direction again.
  room.on('left', (reason) => say(`You are out of the room (${reason}). Reload the page to come back.`))
  requestAnimationFrame(frame)
}

// --- Steering by keyboard, finger, mouse or gamepad ---
const keys = new Set() // The keys that are down.
let finger = null // Where it is on the field.

function steer(me) {
  const down = (...codes) => codes.some((code) => keys.has(code))
  const [stickX = 0, stickY = 0] = navigator.getGamepads().find(Boolean)?.axes ?? []
  const x = down('ArrowRight', 'KeyD') - down('ArrowLeft', 'KeyA') + stickX + (finger ? (finger.x - me.x) / 40 : 0)
  const y = down('ArrowDown', 'KeyS') - down('ArrowUp', 'KeyW') + stickY + (finger ? (finger.y - me.y) / 40 : 0)
  const direction = JSON.stringify({ x: Math.round(x * 4) / 4, y: Math.round(y * 4) / 4 })
  if (direction !== told) room.send('steer', JSON.parse(direction))
  told = direction
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
    finger = buttons > 0 ? { x: (offsetX / canvas.clientWidth) * SIZE, y: (offsetY / canvas.clientWidth) * SIZE } : null
  })
}

// --- Sound ---
let audio
function tone() {
  if (soundButton.ariaPressed !== 'true' || !navigator.userActivation.hasBeenActive) return
  audio ??= new AudioContext()
  const oscillator = new OscillatorNode(audio, { type: 'triangle', frequency: 660 })
  oscillator.connect(new GainNode(audio, { gain: 0.1 })).connect(audio.destination)
  oscillator.start()
  oscillator.stop(audio.currentTime + 0.1)
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

function frame() {
  requestAnimationFrame(frame)
  const players = room.state.get('players') ?? {}
  const me = players[room.me.id]
  if (!me) return
  steer(me)
  pen.clearRect(0, 0, SIZE, SIZE)
  for (const { x, y } of room.state.get('coins')) disc(x, y, 12, '#ffd866')
  for (const { x, y, name, index } of Object.values(players)) {
    disc(x, y, 14, COLOURS[index % COLOURS.length])
    pen.fillText(name, Math.min(SIZE - 40, Math.max(40, x)), y < 50 ? y + 34 : y - 22)
  }
  const all = Object.values(players).map((player) => `${player.name} ${player.points}`)
  const seconds = Math.max(0, Math.ceil((room.state.get('endsAt') - room.now()) / 1000))
  document.querySelector('#points').textContent = `${all.join(', ')}. ${seconds} seconds left.`
}
