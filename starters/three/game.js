// Paper Plane: a game in 3D with three.js, and a leaderboard that resets every day.
import { board } from '/__service/scores.js'
import * as THREE from './three.module.min.js'

const menu = document.querySelector('#menu')
const soundButton = document.querySelector('#sound')
const SIDE = 7 // How far the plane flies to the left and right.
const HEIGHT = 4 // How far it flies up and down.

// --- The scene: x goes to the right, y up, and z towards us. The plane stays at z = 0 and the world comes to it. ---
const canvas = document.querySelector('#sky')
const renderer = new THREE.WebGLRenderer({ canvas, antialias: true })
renderer.setPixelRatio(Math.min(2, devicePixelRatio))
const camera = new THREE.PerspectiveCamera(60, 1, 0.1, 140)
const scene = new THREE.Scene()
const dark = matchMedia('(prefers-color-scheme: dark)').matches
const sky = dark ? '#22304d' : '#bfe0ea'
scene.background = new THREE.Color(sky)
scene.fog = new THREE.Fog(sky, 40, 120)
scene.add(new THREE.HemisphereLight('#ffffff', '#9a8f7a', 3))

const make = (shape, colour) =>
  new THREE.Mesh(shape, new THREE.MeshLambertMaterial({ color: colour, flatShading: true }))
const ground = make(new THREE.PlaneGeometry(400, 400), dark ? '#3d4a3c' : '#cdbf9f')
ground.rotation.x = -Math.PI / 2
ground.position.y = -7
scene.add(ground)

const plane = make(new THREE.ConeGeometry(0.8, 2.4, 4), '#fffdf8')
plane.geometry.rotateX(-Math.PI / 2).scale(1, 0.3, 1)
scene.add(plane)

const trees = Array.from({ length: 60 }, () => make(new THREE.ConeGeometry(1.6, 5, 6), '#6f9a72'))
for (const tree of trees) {
  scene.add(tree)
  place(tree, -Math.random() * 130)
}
const rings = Array.from({ length: 5 }, () => make(new THREE.TorusGeometry(2, 0.22, 10, 32), '#ff8f6b'))
for (const ring of rings) scene.add(ring)

function place(tree, z) {
  tree.position.set((Math.random() - 0.5) * 110, -4.5, z)
}

function raise(ring, z) {
  ring.position.set((Math.random() * 2 - 1) * SIDE * 0.8, (Math.random() * 2 - 1) * HEIGHT * 0.8, z)
}

// --- The game ---
let score = 0
let misses = 0
let speed = 12 // Metres a second, also while nobody plays.
let playing = false

document.querySelector('#play').addEventListener('click', start)

function start() {
  score = 0
  misses = 0
  speed = 26
  playing = true
  menu.hidden = true
  plane.position.set(0, 0, 0)
  for (const [index, ring] of rings.entries()) raise(ring, -50 - index * 26)
}

function move(seconds) {
  for (const thing of [...trees, ...rings]) thing.position.z += speed * seconds
  for (const tree of trees.filter(({ position }) => position.z > 12)) place(tree, -125)
  if (!playing) return
  const { x, y } = steering()
  plane.position.x = between(-SIDE, plane.position.x + x * 11 * seconds, SIDE)
  plane.position.y = between(-HEIGHT, plane.position.y + y * 9 * seconds, HEIGHT)
  plane.rotation.set(y * 0.4, -x * 0.2, -x * 0.6)
  for (const ring of rings.filter(({ position }) => position.z > 0)) {
    const hit = Math.hypot(ring.position.x - plane.position.x, ring.position.y - plane.position.y) < 2.2
    raise(ring, ring.position.z - 26 * rings.length)
    if (hit) score += 1
    else misses += 1
    tone(hit ? 440 + (score % 8) * 55 : 150, 0.3)
    if (hit) speed += 0.6
  }
  if (misses >= 3) end()
}

async function end() {
  playing = false
  speed = 12
  menu.hidden = false
  document.querySelector('#play').focus()
  say(`You flew through ${score} rings.`)
  // Nobody is signed in, or there is no connection: the game goes on without the board.
  const result = await board('today')
    .submit(score)
    .catch(() => null)
  if (result) say(`You flew through ${score} rings. Today you are number ${result.rank} of ${result.total}.`)
}

const say = (text) => (document.querySelector('#say').textContent = text)
const between = (least, value, most) => Math.min(most, Math.max(least, value))

// --- Steering by keyboard, finger, mouse or gamepad ---
const keys = new Set() // The keys that are down.
let finger = null // Where it is: x and y from -1 to 1.

/** Returns x from -1, left, to 1, right, and y from -1, down, to 1, up. */
function steering() {
  const down = (...codes) => codes.some((code) => keys.has(code))
  const [stickX = 0, stickY = 0] = gamepad()?.axes.map((axis) => (Math.abs(axis) > 0.2 ? axis : 0)) ?? []
  const fingerX = finger ? finger.x * SIDE - plane.position.x : 0
  const fingerY = finger ? finger.y * HEIGHT - plane.position.y : 0
  return {
    x: between(-1, down('ArrowRight', 'KeyD') - down('ArrowLeft', 'KeyA') + stickX + fingerX, 1),
    y: between(-1, down('ArrowUp', 'KeyW') - down('ArrowDown', 'KeyS') - stickY + fingerY, 1),
  }
}

const gamepad = () => navigator.getGamepads().find(Boolean)

addEventListener('keydown', ({ code, repeat }) => {
  keys.add(code)
  if (code === 'KeyM' && !repeat) soundButton.click()
})
addEventListener('keyup', ({ code }) => keys.delete(code))
addEventListener('blur', () => keys.clear())
for (const type of ['pointerdown', 'pointermove', 'pointerup', 'pointercancel']) {
  canvas.addEventListener(type, ({ clientX, clientY, buttons }) => {
    finger = buttons > 0 ? { x: (clientX / innerWidth) * 2 - 1, y: 1 - (clientY / innerHeight) * 2 } : null
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

// --- Every frame ---
let before = performance.now()
renderer.setAnimationLoop((now) => {
  const seconds = between(0, (now - before) / 1000, 0.05) // At most, so that nothing jumps after a pause.
  before = now
  if (!playing && gamepad()?.buttons[0].pressed) start()
  move(seconds)
  document.querySelector('#score').textContent = score
  renderer.setSize(innerWidth, innerHeight, false)
  camera.aspect = innerWidth / innerHeight
  camera.position.set(plane.position.x * 0.8, plane.position.y * 0.6 + 1.5, camera.aspect < 1 ? 13 : 8)
  camera.updateProjectionMatrix()
  renderer.render(scene, camera)
})
