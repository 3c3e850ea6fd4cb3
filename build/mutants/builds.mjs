/** Mistakes in what happens to the builds that people publish: archives, names, caching, serving. */
export default [
  {
    name: 'archive: a name without the flag is never UTF-8',
    in: 'core/data/zip',
    find: 'unicodePathOf(entry) ?? utf8(entry.fileNameRaw)',
    replace: 'unicodePathOf(entry)',
    tests: ['plugins/deploy/zip'],
  },
  {
    name: 'archive: a Unicode path of another name counts',
    in: 'core/data/zip',
    find: 'if (data.readUInt32LE(1) === crc32(fileNameRaw)) return',
    replace: 'return',
    tests: ['plugins/deploy/zip'],
  },
  {
    name: 'archive: a name is checked before it is normalised',
    in: 'core/data/zip',
    find: 'const fault = pathProblem(isFolder ? path.slice(0, -1) : path)',
    replace: "const fault = pathProblem(entry.fileNameRaw.toString('latin1').replace(/[\\\\/]$/, ''))",
    tests: ['plugins/deploy/zip'],
  },
  {
    name: 'caching: a name that had two contents stays immutable',
    in: 'plugins/game-edge/files',
    find: 'carriesDigest(path) && !changed.has(path)',
    replace: 'carriesDigest(path)',
    tests: ['plugins/game-edge/files'],
  },
  {
    name: 'caching: the script of a worker is immutable',
    in: 'plugins/game-edge/files',
    find: 'worker ? cacheControl.revalidate : representation.cacheControl',
    replace: 'representation.cacheControl',
    tests: ['plugins/game-edge/files'],
  },
  {
    name: 'caching: an isolated file has the tag of the one before',
    in: 'plugins/game-edge/files',
    find: "site.isolated ? '-isolated' : ''",
    replace: "''",
    tests: ['plugins/game-edge/files'],
  },
  {
    name: 'serving: the start page stands for a missing script',
    in: 'plugins/game-edge/files',
    find: 'if (PARTS.has(destination)) return true',
    replace: '',
    tests: ['plugins/game-edge/files'],
  },
  {
    name: 'serving: the script of saves outlives a suspension',
    in: 'plugins/saves/routes',
    find: 'onRequest: (request) => app.edge.refuseSuspended(request),',
    replace: '',
    tests: ['plugins/game-edge/files'],
  },
]
