/** Mistakes in the decoding of files that users send, and in the worker threads that do it. */
export default [
  {
    name: 'the scans of a picture are not counted',
    in: 'core/images',
    find: 'if (count > MOST_SCANS) throw',
    replace: 'if (count < 0) throw',
    tests: ['core/images/structure'],
  },
  {
    name: 'the chunks of a picture are not counted',
    in: 'core/images',
    find: 'if (count > most) throw',
    replace: 'if (count > bytes) throw',
    tests: ['core/images/structure'],
  },
  {
    name: 'a player with many tasks goes before others',
    in: 'core/jobs',
    find: 'this.#giveWay(kind.owner, nameOf(kind))',
    replace: 'this.#owners[nameOf(kind)].delete(kind.owner)',
    tests: ['core/jobs/task-queue'],
  },
  {
    name: 'a player may have any number of running tasks',
    in: 'core/jobs',
    find: 'if (this.#owners[kind].has(key as string)) continue',
    replace: '',
    tests: ['core/jobs/task-queue'],
  },
  {
    name: 'a task of a worker has no limit of processor time',
    in: 'core/jobs',
    find: 'if (left <= 0) end()\n    else timer',
    replace: 'timer',
    tests: ['core/jobs/worker-pool'],
  },
  {
    name: 'the frames of a GIF are not counted',
    in: 'plugins/games/media',
    find: 'checkFrames(++frames)\n      const [left, top',
    replace: 'frames++\n      const [left, top',
    tests: ['plugins/games/media'],
  },
  {
    name: 'the parts of the index of a WebM are not counted',
    in: 'plugins/games/media',
    find: 'if (++count > MOST_ELEMENTS)',
    replace: 'if (count > MOST_ELEMENTS)',
    tests: ['plugins/games/media'],
  },
  {
    name: 'the background work on assets takes the threads of uploads',
    in: 'plugins/assets',
    find: 'background: true, signal',
    replace: 'signal',
    tests: ['plugins/assets/fairness'],
  },
]
