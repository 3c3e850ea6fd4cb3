/** Mistakes in the configuration, in backups, and in what a host runs. */
export default [
  {
    name: 'a restore that fails at the configuration leaves its data behind',
    in: 'core/data/backups',
    find: 'for (const path of appeared) await rm(path, { recursive: true, force: true })',
    replace: '',
    tests: ['core/data/backup'],
  },
  {
    name: 'a platform starts on half a restore',
    in: 'core/data',
    find: 'if (restores.some((name) => existsSync(join(dataDir, name, MOVED_FILE))))',
    replace: 'if (restores.length > 9)',
    tests: ['core/data/backup'],
  },
  {
    name: 'a backup that a signal ends leaves the size of the data behind',
    in: 'core/data/backups',
    find: '    rmSync(this.path, { recursive: true, force: true })\n',
    replace: '',
    tests: ['core/data/working-folder'],
  },
  {
    name: 'a backup is written into the blobs that it copies',
    in: 'bin/commands',
    find: 'if (isInsideData(target, dataDir))',
    replace: 'if (isInsideData(target, file))',
    tests: ['bin/backup'],
  },
  {
    name: 'a foreign variable with the prefix refuses the start',
    in: 'config',
    find: "and is ignored', 'warning')",
    replace: "and is ignored', 'error')",
    tests: ['config/environment'],
  },
  {
    name: 'an empty variable is a value',
    in: 'config',
    find: ".filter(([, text]) => text !== '')",
    replace: '',
    tests: ['config/environment'],
  },
  {
    name: 'the rules of a driver are found at the start only',
    in: 'config',
    find: 'driver?.check?.(own as never)',
    replace: '',
    tests: ['config/errors'],
  },
]
