// What somebody can try from the console of the browser, in a room whose script decides.

/** The means of a cheater. Each answers with what came of it, in one line. */
export interface Cheater {
  /**
   * Sends frames, texts or bytes, on a socket to the room. Answers `nothing`, `error <code>` of the first error, or
   * `close <code>`.
   */
  send(...frames: (string | number[])[]): Promise<string>
  /** Sends a request to the game. Answers its status, and the code of its error. */
  ask(method: string, path: string, options?: { body?: unknown; signedOut?: boolean }): Promise<string>
  /** Opens another socket. Answers `entered as <id>`, or the refusal as of `ask`. */
  enter(path: string): Promise<string>
}

/** What the cheater has learnt about others. */
export interface Victim {
  id: string
  /** The secret with which the victim's connection may come back. */
  resume: string
}

export interface Cheat {
  name: string
  try(eve: Cheater, victim: Victim): Promise<string>
  /** What came of it. The referee sees the rest. */
  expected: string
}

export const ROOM = '/mp/rooms/field'
const steer = (data: string) => `{"t":"send","type":"steer","data":${data}}`
const many = (frame: string) => Array.from({ length: 200 }, () => frame)
const deep = '['.repeat(7500) + ']'.repeat(7500)

export const CHEATS: readonly Cheat[] = [
  {
    name: 'a forged position with points',
    try: (eve) => eve.send(steer('{"x":0,"y":0,"points":99,"players":{}}'), '{"t":"send","type":"points","data":99}'),
    expected: 'nothing',
  },
  {
    name: 'three times the speed',
    try: (eve) => eve.send(steer('{"x":3,"y":-3}')),
    expected: 'nothing',
  },
  {
    name: 'a step across the field',
    try: (eve) => eve.send(steer('{"x":1e9,"y":-1e9}')),
    expected: 'nothing',
  },
  {
    name: 'endless numbers',
    try: (eve) => eve.send(steer('{"x":-1e999,"y":1e999}')),
    expected: 'nothing',
  },
  {
    name: 'what is no number',
    try: (eve) => eve.send(...['"NaN"', 'null', '[]', '{"x":"1e9","y":{}}', '{"x":[9],"y":true}', '7'].map(steer)),
    expected: 'nothing',
  },
  {
    name: 'values nested thousands of times',
    try: (eve) => eve.send(...Array(25).fill(steer(`{"x":${deep}}`))),
    expected: 'nothing',
  },
  {
    name: 'keys of the prototype',
    try: (eve) =>
      eve.send(
        steer('{"__proto__":{"x":9,"points":99},"constructor":{"prototype":{"points":99}}}'),
        '{"t":"send","type":"__proto__","data":{"x":1}}',
        '{"t":"send","type":"constructor","data":{"x":1}}',
      ),
    expected: 'nothing',
  },
  {
    name: 'steering for another player',
    try: (eve, { id }) =>
      eve.send(
        `{"t":"send","type":"steer","data":{"x":0,"y":0,"id":"${id}"},"to":["${id}"]}`,
        `{"t":"send","from":"${id}","id":"${id}","you":"${id}","type":"steer","data":{"x":0,"y":0}}`,
      ),
    expected: 'nothing',
  },
  {
    name: 'a message to the others in the script’s words',
    try: (eve) => eve.send('{"t":"send","type":"end","data":{"points":99,"all":99},"to":"all"}'),
    expected: 'nothing',
  },
  {
    name: 'the same moves again and out of order',
    try: (eve) =>
      eve.send(
        ...Array(10)
          .fill([steer('{"x":1,"y":0}'), steer('{"x":0,"y":1}')])
          .flat(),
      ),
    expected: 'nothing',
  },
  {
    name: 'writing the shared state',
    try: (eve) => eve.send('{"t":"state","set":{"players":{},"endsAt":0,"results":[]}}'),
    expected: 'error read_only',
  },
  {
    name: 'deleting from it',
    try: (eve) => eve.send('{"t":"state","del":["players","coins"],"if":1}'),
    expected: 'error read_only',
  },
  {
    name: 'writing to its prototype',
    try: (eve) => eve.send('{"t":"state","set":{"__proto__":{"points":99}}}'),
    expected: 'error read_only',
  },
  {
    name: 'sending another player away',
    try: (eve, { id }) => eve.send(`{"t":"kick","id":"${id}"}`),
    expected: 'error not_host',
  },
  { name: 'locking the room', try: (eve) => eve.send('{"t":"lock","locked":true}'), expected: 'error not_host' },
  {
    name: 'becoming its host',
    try: (eve) => eve.send('{"t":"host","id":"p2"}'),
    expected: 'error not_host',
  },
  {
    name: 'frames that only the platform sends',
    try: (eve, { id }) =>
      eve.send(
        '{"t":"msg","from":null,"type":"end","data":{"points":99}}',
        `{"t":"leave","id":"${id}","reason":"kicked"}`,
        '{"t":"welcome","you":"p1","state":{}}',
      ),
    expected: 'error invalid_message',
  },
  {
    name: 'points as presence',
    try: (eve) => eve.send('{"t":"presence","data":{"points":99,"x":0}}'),
    expected: 'nothing',
  },
  {
    name: 'bytes that mean nothing',
    try: (eve) => eve.send(Array.from({ length: 2000 }, (_, at) => (at * 197) % 256)),
    expected: 'nothing',
  },
  {
    name: 'bytes with the sender of the script',
    try: (eve) => eve.send([0xff, 0xff, ...new TextEncoder().encode('{"points":99}')]),
    expected: 'nothing',
  },
  {
    name: 'what is no JSON',
    try: (eve) => eve.send('{"t":"send","type":"steer",', 'steer'),
    expected: 'error invalid_message',
  },
  {
    name: 'a message that is too large',
    try: (eve) => eve.send(steer(`"${'x'.repeat(17_000)}"`)),
    expected: 'close 1009',
  },
  {
    name: 'more moves than the room takes',
    try: (eve) => eve.send(...many(steer('{"x":1,"y":1}'))),
    expected: 'close 1008',
  },
  {
    name: 'more writes than the room takes',
    try: (eve) => eve.send(...many('{"t":"state","set":{"endsAt":0}}')),
    expected: 'close 1008',
  },
  {
    name: 'the place of another player, by the secret of its connection',
    try: (eve, { id, resume }) =>
      eve
        .enter(`${ROOM}?resume=${resume}&received=0`)
        .then((came) => (came.startsWith('entered as ') && came !== `entered as ${id}` ? 'a place of her own' : came)),
    expected: 'a place of her own',
  },
  {
    name: 'several places in one room',
    try: async (eve) => {
      const places = []
      for (let tries = 0; tries < 12; tries++) places.push(await eve.enter(ROOM))
      return `${new Set(places).size} places, one after the other`
    },
    expected: '12 places, one after the other',
  },
  {
    name: 'a room of a name that is none',
    try: (eve) => eve.enter(`/mp/rooms/${'x'.repeat(65)}`),
    expected: '400 invalid_request',
  },
  {
    name: 'the rooms of a preview',
    try: (eve) => eve.enter(`${ROOM}?preview=next`),
    expected: '404 not_found',
  },
  {
    name: 'a room without a session',
    try: (eve) => eve.ask('GET', ROOM, { signedOut: true }),
    expected: '401 auth_required',
  },
  {
    name: 'a score of her own',
    try: (eve) => eve.ask('POST', '/__service/scores/coins', { body: { score: 1e6 } }),
    expected: '403 room_writes_only',
  },
  {
    name: 'a board of her own',
    try: (eve) => eve.ask('POST', '/__service/scores/gold', { body: { score: 1e6 } }),
    expected: '404 not_found',
  },
  {
    name: 'a save of her own',
    // It is hers to change, so the script reads none.
    try: async (eve) => {
      const answer = await eve.ask('PUT', '/__service/saves/coins', { body: { all: 'NaN', round: {} } })
      return answer === '200' || answer === '201' ? 'her own save' : answer
    },
    expected: 'her own save',
  },
  { name: 'the source of the script', try: (eve) => eve.ask('GET', '/room.js'), expected: '404 not_found' },
]
