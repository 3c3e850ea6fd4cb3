/** A small complete game, from which somebody makes their own. Its files are in `starters/<name>/`. */
export interface Starter {
  name: string
  /** The title of the game, in its `<title>` and its heading. */
  title: string
  /** What one does in it. */
  summary: string
  /** The part of the platform that it shows. */
  shows: string
  tags: string[]
  players: 'single' | 'online'
  /** Its own files, the page first. */
  files: string[]
  /** The engine's files by their path in the game, each with its path in the source tree. */
  engine?: Record<string, string>
  /** The leaderboards that it uses. */
  boards?: { id: string; title: string; reset?: 'daily'; writers?: 'room' }[]
  /** The path of its room script among its files. */
  room?: string
}

/** Every starter, the simplest first. */
export const STARTERS: readonly Starter[] = [
  {
    name: 'page',
    title: 'Four Notes',
    summary: 'Four pads play a tune. Play it back: every round is one note longer.',
    shows: 'One HTML file. It greets players by their name.',
    tags: ['music', 'memory'],
    players: 'single',
    files: ['index.html'],
  },
  {
    name: 'canvas',
    title: 'Paper Boat',
    summary: 'Steer a paper boat down the river. Collect lanterns, and keep clear of the rocks.',
    shows: 'A canvas without any library. It has a leaderboard.',
    tags: ['arcade'],
    players: 'single',
    files: ['index.html', 'game.js'],
    boards: [{ id: 'lanterns', title: 'Most lanterns' }],
  },
  {
    name: 'phaser',
    title: 'Cloud Hopper',
    summary: 'Jump from cloud to cloud, as high as you can. Collect stars on the way.',
    shows: 'Phaser, an engine for 2D games. It saves what a player has reached.',
    tags: ['platformer'],
    players: 'single',
    files: ['index.html', 'game.js'],
    engine: {
      'phaser.esm.min.js': 'node_modules/phaser/dist/phaser.esm.min.js',
      'phaser-license.txt': 'node_modules/phaser/LICENSE.md',
    },
  },
  {
    name: 'three',
    title: 'Paper Plane',
    summary: 'Fly a paper plane through the rings. Three missed rings end the flight.',
    shows: '3D with three.js. Its leaderboard resets every day.',
    tags: ['3d', 'flying'],
    players: 'single',
    files: ['index.html', 'game.js'],
    engine: {
      'three.module.min.js': 'node_modules/three/build/three.module.min.js',
      'three.core.min.js': 'node_modules/three/build/three.core.min.js',
      'three-license.txt': 'node_modules/three/LICENSE',
    },
    boards: [{ id: 'today', title: 'Most rings today', reset: 'daily' }],
  },
  {
    name: 'rooms',
    title: 'Fireflies',
    summary: 'Catch fireflies with everybody who is here. The first with ten wins the round.',
    shows: 'Rooms: two players or more see each other move.',
    tags: ['multiplayer'],
    players: 'online',
    files: ['index.html', 'game.js'],
  },
  {
    name: 'authority',
    title: 'Coin Rush',
    summary: 'Collect more coins than the others in a minute.',
    shows: 'A room script: the platform moves the players, and gives scores that nobody can forge.',
    tags: ['multiplayer'],
    players: 'online',
    files: ['index.html', 'game.js', 'room.js'],
    boards: [{ id: 'coins', title: 'Most coins in a minute', writers: 'room' }],
    room: 'room.js',
  },
]

/** Returns what a starter states about itself. All of them can be played with each input, and are in English. */
export const featuresOf = ({ players }: Starter) => ({
  inputs: ['touch', 'keyboard', 'mouse', 'gamepad'] as ('touch' | 'keyboard' | 'mouse' | 'gamepad')[],
  players: [players],
  languages: ['en'],
})

/** Returns the starter of a name; undefined when there is none. */
export const findStarter = (name: string): Starter | undefined => STARTERS.find((starter) => starter.name === name)
