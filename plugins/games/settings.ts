import { invalidField } from '../../core/errors.ts'
import { DEFAULT_SETTINGS, type GameSettings, type SettingsChanges } from './schemas.ts'

/**
 * Returns settings with changes.
 *
 * @param mostRoomPlayers the number of players that any room of this server admits
 * @throws InvalidRequest for rooms of more players. A stored number may be greater, if the server has lowered its own
 */
export function settingsWith(
  settings: GameSettings,
  changes: SettingsChanges = {},
  { mostRoomPlayers }: { mostRoomPlayers: number },
): GameSettings {
  const players = changes.multiplayer?.maxPlayersPerRoom
  if (players !== undefined && players > mostRoomPlayers && players !== settings.multiplayer.maxPlayersPerRoom) {
    throw invalidField(
      'settings.multiplayer.maxPlayersPerRoom',
      `A room on this server has at most ${mostRoomPlayers} players (limits.roomPlayers).`,
    )
  }
  return {
    ...settings,
    ...changes,
    multiplayer: { ...settings.multiplayer, ...changes.multiplayer },
    // Rows of the time before this setting lack it.
    saves: { ...DEFAULT_SETTINGS.saves, ...settings.saves, ...changes.saves },
  }
}
