import { CompletionContext } from '@codemirror/autocomplete'
import { EditorState } from '@codemirror/state'
import t from 'tap'
import type { Room } from '../../../clients/browser/multiplayer.ts'
import { Saves } from '../../../clients/browser/saves.ts'
import type { Board } from '../../../clients/browser/scores/types.ts'
import type { Room as ScriptRoom } from '../../../clients/room/index.ts'
import {
  BOARD,
  platformCompletions,
  ROOM,
  SAVES,
  SCRIPT_ROOM,
} from '../../../plugins/editor/islands/code/completions.ts'

/** The public members of a type, each true. A missing or an unknown one fails the check of types. */
type Members<Type> = { [Name in Extract<keyof Type, string>]: string }
type Table<Type, Given> =
  Given extends Members<Type> ? (Exclude<keyof Given, keyof Type> extends never ? Given : never) : never

const tables = {
  room: ROOM satisfies Table<Room, typeof ROOM>,
  script: SCRIPT_ROOM satisfies Table<ScriptRoom, typeof SCRIPT_ROOM>,
  saves: SAVES satisfies Table<Saves, typeof SAVES>,
  board: BOARD satisfies Table<Board, typeof BOARD>,
}

/** Returns what the editor offers at the end of a text. */
async function offered(text: string, inRoomScript = false): Promise<string[]> {
  const context = new CompletionContext(EditorState.create({ doc: text }), text.length, false)
  const result = await platformCompletions(() => inRoomScript)(context)
  return result?.options.map(({ label }) => label) ?? []
}

t.test('the members of the platform are offered after their names', async (t) => {
  t.same(await offered('room.'), Object.keys(tables.room))
  t.same(await offered('  room.se', true), Object.keys(tables.script), 'a room script has another room')
  t.same(await offered('await saves.'), Object.keys(tables.saves))
  t.same(await offered('board.t'), Object.keys(tables.board))
  t.same(await offered('mushroom.'), [], 'and not after other names')
  t.same(await offered('imp'), ['import join', 'import saves', 'import board', 'import generate'])
  t.same(await offered('imp', true), [], 'a room script imports nothing')
})

t.test('the members of saves are those of the script that games load', async (t) => {
  const members = Object.getOwnPropertyNames(Saves.prototype).filter((name) => name !== 'constructor')
  t.same(Object.keys(tables.saves).sort(), members.sort())
})
