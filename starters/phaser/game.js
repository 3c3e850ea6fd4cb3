// Cloud Hopper: a game with Phaser. It saves what the player has reached, on the platform.
import { saves } from '/__service/saves.js'
import Phaser from './phaser.esm.min.js'

const WIDTH = 400
const HEIGHT = 640
const menu = document.querySelector('#menu')
const playButton = document.querySelector('#play')
const soundButton = document.querySelector('#sound')

/** What stays for the next time, on every device of the player. Signed out, it stays on this device. */
let progress = { best: 0, stars: 0 }

class Clouds extends Phaser.Scene {
  create() {
    this.drawTextures()
    this.clouds = this.physics.add.staticGroup()
    this.stars = this.physics.add.staticGroup()
    this.hopper = this.physics.add.sprite(WIDTH / 2, HEIGHT - 120, 'hopper').setDepth(1)
    // One can jump through a cloud from below, and lands on it from above.
    Object.assign(this.hopper.body.checkCollision, { up: false, left: false, right: false })
    this.physics.add.collider(this.hopper, this.clouds, () => this.jump())
    this.physics.add.overlap(this.hopper, this.stars, (_, star) => this.collect(star))
    this.keys = this.input.keyboard.addKeys('LEFT,RIGHT,A,D')
    this.input.keyboard.on('keydown-M', () => soundButton.click())
    this.restart()
    this.physics.pause()
    playButton.addEventListener('click', () => this.start())
    playButton.disabled = false // The page has it disabled until the engine is ready.
  }

  restart() {
    this.clouds.clear(true, true)
    this.stars.clear(true, true)
    this.highest = HEIGHT - 40 // The place of the highest cloud. Up is less.
    this.clouds.create(WIDTH / 2, this.highest, 'cloud')
    this.hopper.setPosition(WIDTH / 2, HEIGHT - 120).setVelocity(0, 0)
    this.cameras.main.scrollY = 0
    this.metres = 0
    this.playing = false
    this.addClouds()
  }

  start() {
    this.restart()
    this.playing = true
    this.physics.resume()
    menu.hidden = true
  }

  update() {
    const pad = this.input.gamepad.total > 0 ? this.input.gamepad.getPad(0) : null
    if (!this.playing) {
      if (pad?.A) this.start()
      return
    }
    this.steer(pad)
    const camera = this.cameras.main
    camera.scrollY = Math.min(camera.scrollY, this.hopper.y - HEIGHT * 0.45)
    this.metres = Math.max(this.metres, Math.round((HEIGHT - 120 - this.hopper.y) / 40))
    document.querySelector('#score').textContent = this.metres
    this.addClouds()
    if (this.hopper.y > camera.scrollY + HEIGHT + 60) this.end()
  }

  steer(pad) {
    const { LEFT, RIGHT, A, D } = this.keys
    const pointer = this.input.activePointer
    const finger = pointer.isDown ? (pointer.x - this.hopper.x) / 40 : 0
    const stick = pad && Math.abs(pad.leftStick.x) > 0.2 ? pad.leftStick.x : 0
    const keys = (RIGHT.isDown || D.isDown) - (LEFT.isDown || A.isDown)
    const turn = Phaser.Math.Clamp(keys + stick + finger, -1, 1)
    this.hopper.setVelocityX(turn * 330)
    this.hopper.setFlipX(turn < 0)
    this.hopper.x = Phaser.Math.Wrap(this.hopper.x, -20, WIDTH + 20)
  }

  /** Adds clouds, and sometimes a star, until there are enough above the screen. Removes those below it. */
  addClouds() {
    const { scrollY } = this.cameras.main
    while (this.highest > scrollY - 200) {
      this.highest -= Phaser.Math.Between(70, Math.min(150, 90 + this.metres))
      const x = Phaser.Math.Between(50, WIDTH - 50)
      this.clouds.create(x, this.highest, 'cloud')
      if (Math.random() < 0.35) this.stars.create(x, this.highest - 40, 'star')
    }
    for (const thing of [...this.clouds.getChildren(), ...this.stars.getChildren()]) {
      if (thing.y > scrollY + HEIGHT + 50) thing.destroy()
    }
  }

  jump() {
    this.hopper.setVelocityY(-620)
    tone(300, 0.15)
  }

  collect(star) {
    star.destroy()
    progress.stars += 1
    tone(780, 0.25)
  }

  async end() {
    this.playing = false
    this.physics.pause()
    tone(120, 0.6)
    const isBest = this.metres > progress.best
    progress.best = Math.max(progress.best, this.metres)
    tell(isBest ? `${this.metres} metres, higher than ever!` : `${this.metres} metres.`)
    await saves.set('progress', progress)
  }

  drawTextures() {
    const pen = this.make.graphics({ add: false })
    pen.fillStyle(0xffffff).fillRoundedRect(0, 6, 90, 20, 10).fillCircle(32, 12, 12).fillCircle(55, 12, 10)
    pen.generateTexture('cloud', 90, 26).clear()
    pen
      .fillStyle(0xff8f6b)
      .fillEllipse(20, 24, 36, 32)
      .fillTriangle(6, 14, 10, 0, 18, 10)
      .fillTriangle(22, 10, 30, 0, 34, 14)
    pen.fillStyle(0x1d1b16).fillCircle(22, 21, 3).fillCircle(31, 21, 3)
    pen.generateTexture('hopper', 40, 40).clear()
    pen.fillStyle(0xffc94d).fillCircle(12, 12, 11).fillStyle(0xfff3cf).fillCircle(9, 9, 4)
    pen.generateTexture('star', 24, 24).destroy()
  }
}

function tell(text) {
  document.querySelector('#say').textContent = `${text} Best: ${progress.best} metres. Stars: ${progress.stars}.`
  menu.hidden = false
  playButton.focus()
}

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

new Phaser.Game({
  parent: 'game',
  scene: Clouds,
  width: WIDTH,
  height: HEIGHT,
  backgroundColor: matchMedia('(prefers-color-scheme: dark)').matches ? '#22304d' : '#8fc7d8',
  scale: { mode: Phaser.Scale.FIT, autoCenter: Phaser.Scale.CENTER_BOTH },
  physics: { default: 'arcade', arcade: { gravity: { y: 1000 } } },
  input: { gamepad: true },
  banner: false,
})

progress = (await saves.get('progress')) ?? progress
if (progress.best > 0) tell('Welcome back!')
