import type { Draft, WrittenFile } from '../../schemas.ts'
import { type DraftApi, Refused } from './api.ts'
import { kindOf, type OpenFile } from './open-file.ts'
import type { UnsentTexts } from './unsent.ts'

/** The time without typing after which a text is saved, and the time until a failed save is tried again, in ms. */
const SAVE_AFTER_MS = 600
const RETRY_MS = 3000

/** What the status line says. */
export type Status = 'saved' | 'unsaved' | 'saving' | 'offline' | 'conflict'

/** The place in a file to show. */
export interface Place {
  line: number
  column: number
}

interface Context {
  api: DraftApi
  unsent: UnsentTexts
  /** The player who edits here. */
  playerId: string
}

/** The draft in this tab: its files, the open ones, and what is not saved yet. */
export class Workspace {
  draft: Draft
  open: OpenFile[] = []
  active: OpenFile | null = null
  /** The place that the editor should show next. */
  place: Place | null = null
  /** The text that the editor should insert next. */
  insertion: string | null = null
  /** The last error, for people. */
  problem: string | null = null
  /** Called after each change that the preview shows. */
  onSaved: () => void = () => {}
  readonly api: DraftApi
  readonly #context: Context
  readonly #listeners = new Set<() => void>()
  readonly #timers = new Map<string, number>()
  #offline = false
  /** The latest revision of the draft that the server has told of; 0 once it was read. */
  #heardRevision = 0

  constructor(draft: Draft, context: Context) {
    this.draft = draft
    this.#context = context
    this.api = context.api
    addEventListener('online', () => this.saveAll())
  }

  /** Calls a function after each change of what the page shows. */
  subscribe(listener: () => void): void {
    this.#listeners.add(listener)
  }

  get status(): Status {
    if (this.open.some(({ conflict }) => conflict)) return 'conflict'
    if (this.#offline) return 'offline'
    if (this.open.some(({ saving }) => saving)) return 'saving'
    return this.open.some(({ dirty }) => dirty) ? 'unsaved' : 'saved'
  }

  /** Opens a text whose content came with the page. */
  take(given: { path: string; text: string; revision: number }): void {
    const file: OpenFile = { ...EMPTY, ...given, seen: given.text, kind: 'text' }
    this.#bringBack(file)
    this.open = [file]
    this.active = file
  }

  /** Opens a file in a tab, or shows the tab that it has. */
  async show(path: string, place: Place | null = null): Promise<void> {
    const known = this.open.find((file) => file.path === path)
    if (known) return this.#activate(known, place)
    const info = this.draft.files.find((file) => file.path === path)
    if (!info) return
    const file: OpenFile = { ...EMPTY, path, kind: kindOf(info), revision: info.revision }
    if (file.kind === 'text') {
      const read = await this.#try(() => this.api.readText(path))
      if (!read) return
      Object.assign(file, read, { seen: read.text })
      this.#bringBack(file)
    }
    const meanwhile = this.open.find((other) => other.path === path)
    if (!meanwhile) this.open = [...this.open, file]
    this.#activate(meanwhile ?? file, place)
  }

  /** Opens the files whose last text did not reach the server. */
  async restore(): Promise<void> {
    const there = new Set(this.draft.files.map(({ path }) => path))
    for (const path of this.#context.unsent.paths()) {
      if (there.has(path)) await this.show(path)
      else this.#context.unsent.forget(path)
    }
  }

  close(path: string): void {
    const at = this.open.findIndex((file) => file.path === path)
    const file = this.open[at]
    if (!file) return
    if (file.dirty && !file.conflict) void this.save(file)
    this.open = this.open.filter((other) => other !== file)
    if (this.active === file) this.active = this.open[Math.min(at, this.open.length - 1)] ?? null
    this.#changed()
  }

  /** Gives up what is not saved in the open files. */
  abandon(): void {
    for (const file of this.open) {
      this.#context.unsent.forget(file.path)
      clearTimeout(this.#timers.get(file.path))
      // Without a revision, the server's text takes the place of what was typed.
      Object.assign(file, { dirty: false, conflict: null, revision: null })
    }
  }

  /** The text of a file was edited. */
  edit(file: OpenFile, text: string): void {
    if (file.text === text) return
    file.text = text
    file.dirty = true
    this.#context.unsent.keep(file.path, { text, revision: file.revision })
    this.#later(file, SAVE_AFTER_MS)
    this.#changed()
  }

  /** Inserts a text at the cursor of the shown file, which must be a text. */
  insert(text: string): void {
    this.insertion = text
    this.#changed()
  }

  saveAll(): void {
    for (const file of this.open) if (file.dirty && !file.conflict) void this.save(file)
  }

  /** Sends the text of a file. @param anyway over a change that this tab has not seen */
  async save(file: OpenFile, anyway = false): Promise<void> {
    if (file.saving || !file.dirty) return
    clearTimeout(this.#timers.get(file.path))
    file.saving = true
    if (anyway) file.conflict = null
    const { path, text } = file
    this.#changed()
    try {
      const written = await (anyway ? this.api.write(path, text) : this.#write(file, text))
      Object.assign(file, { revision: written.revision, seen: text })
      file.dirty = file.text !== text
      this.#offline = false
      this.problem = null
      if (file.dirty) this.#context.unsent.keep(path, { text: file.text, revision: file.revision })
      else this.#context.unsent.forget(path)
      await this.#takeOver(written.revision, { path, size: written.size, revision: written.revision })
      this.onSaved()
    } catch (error) {
      if (isConflict(error)) file.conflict = this.#conflictOf(error.body)
      else if (error instanceof Refused && error.status < 500) this.problem = error.message
      else {
        this.#offline = true
        this.#later(file, RETRY_MS)
      }
    } finally {
      file.saving = false
      if (file.dirty && !file.conflict && !this.#offline && !this.problem) this.#later(file, SAVE_AFTER_MS)
      this.#changed()
      void this.#catchUp()
    }
  }

  /** Replaces the text of a file in conflict by the server's. */
  async takeTheirs(file: OpenFile): Promise<void> {
    const read = await this.#try(() => this.api.readText(file.path))
    if (!read) return
    this.#context.unsent.forget(file.path)
    Object.assign(file, read, { seen: read.text, dirty: false, conflict: null, loads: file.loads + 1 })
    this.#changed()
  }

  /** Does something with the draft on the server, and reads it again. @returns undefined when it was refused */
  async act<Result>(work: (api: DraftApi) => Promise<Result>): Promise<Result | undefined> {
    const done = await this.#try(() => work(this.api))
    // The reason of a refusal stays, also when the draft can be read.
    const { problem } = this
    await this.refresh()
    if (problem) this.report(problem)
    this.onSaved()
    return done
  }

  /** Reads the draft again, and what others changed in open files. */
  async refresh(): Promise<void> {
    const draft = await this.#try(() => this.api.read())
    if (!draft) return
    this.draft = draft
    const files = new Map(draft.files.map((file) => [file.path, file]))
    const who = this.#nameOf(draft.updatedBy?.id, draft.updatedBy?.name)
    for (const file of this.open) {
      const now = files.get(file.path)
      if (file.saving || !now || now.revision === file.revision) continue
      if (file.kind === 'text') await this.#follow(file, { who, at: draft.updatedAt ?? '' })
      else Object.assign(file, { revision: now.revision, loads: file.loads + 1 })
    }
    this.open = this.open.filter(({ path, dirty }) => files.has(path) || dirty)
    if (this.active && !this.open.includes(this.active)) this.active = this.open.at(-1) ?? null
    this.#changed()
  }

  /** Says that the draft has this revision on the server. */
  async heard(revision: number): Promise<void> {
    this.#heardRevision = revision
    await this.#catchUp()
  }

  /** Reads the draft when the server has a later one. A save that is under way may be the reason, so its end is awaited. */
  async #catchUp(): Promise<void> {
    if (this.#heardRevision <= this.draft.revision || this.open.some(({ saving }) => saving)) return
    this.#heardRevision = 0
    await this.refresh()
    this.onSaved()
  }

  /** Whether everything is saved, once what is under way has arrived. */
  async settle(): Promise<boolean> {
    for (const file of this.open) if (file.dirty && !file.conflict) await this.save(file)
    if (this.status === 'saved') return true
    if (!this.problem) this.report('Not everything is saved yet. Solve what is said about the open files first.')
    return false
  }

  report(problem: string | null): void {
    this.problem = problem
    this.#changed()
  }

  /** Goes on with a text that did not reach the server, from this browser. */
  #bringBack(file: OpenFile): void {
    const unsent = this.#context.unsent.find(file.path)
    if (!unsent || unsent.text === file.text) {
      this.#context.unsent.forget(file.path)
      return
    }
    if (unsent.revision !== file.revision) {
      file.conflict = { who: this.#nameOf(this.draft.updatedBy?.id, this.draft.updatedBy?.name), at: '' }
    }
    // A person who goes on typing still has not seen the server's text, also after the next reload.
    Object.assign(file, { text: unsent.text, revision: unsent.revision, dirty: true })
    this.#later(file, SAVE_AFTER_MS)
  }

  /**
   * Sends the text of a file. A publish changes the revision of a file and not its text. So if the revision is refused
   * and the server has the text that this tab has seen, it is sent again, once.
   */
  async #write(file: OpenFile, text: string): Promise<WrittenFile> {
    try {
      return await this.api.write(file.path, text, file.revision)
    } catch (error) {
      if (!isConflict(error)) throw error
      const read = await this.api.readText(file.path).catch((failure) => {
        // The file was removed.
        throw failure instanceof Refused && failure.status === 404 ? error : failure
      })
      if (read.text !== file.seen) throw error
      this.#takeRevision(file, read.revision)
      return this.api.write(file.path, text, file.revision)
    }
  }

  /**
   * Takes over what the server has now for a file. Where only the revision differs, as after a publish, the text stays,
   * so that the cursor does not move.
   *
   * @param conflict what to say when both sides have changed the text
   */
  async #follow(file: OpenFile, conflict: NonNullable<OpenFile['conflict']>): Promise<void> {
    for (;;) {
      const { revision, seen } = file
      const read = await this.#try(() => this.api.readText(file.path))
      // A save that is under way compares the revision itself.
      if (!read || file.saving || !this.open.includes(file)) return
      // The answer may be older than a save, or than another refresh, that has ended meanwhile.
      if (file.revision !== revision || file.seen !== seen) continue
      if (read.text === file.text || (file.dirty && !file.conflict && read.text === seen)) {
        file.seen = read.text
        this.#takeRevision(file, read.revision)
      } else if (file.dirty) file.conflict = conflict
      else {
        this.#context.unsent.forget(file.path)
        Object.assign(file, read, { seen: read.text, loads: file.loads + 1 })
      }
      return
    }
  }

  #takeRevision(file: OpenFile, revision: number): void {
    file.revision = revision
    if (file.dirty) this.#context.unsent.keep(file.path, { text: file.text, revision })
  }

  /** Takes over a change of this tab. Where others changed something in between, the draft is read. */
  async #takeOver(revision: number, written: { path: string; size: number; revision: number }): Promise<void> {
    const info = this.draft.files.find(({ path }) => path === written.path)
    if (info && revision <= this.draft.revision + 1) {
      Object.assign(info, written, { change: info.change ?? 'changed' })
      this.draft = { ...this.draft, revision: Math.max(revision, this.draft.revision), changed: true }
    } else await this.refresh()
  }

  #later(file: OpenFile, ms: number): void {
    clearTimeout(this.#timers.get(file.path))
    this.#timers.set(
      file.path,
      window.setTimeout(() => void (file.conflict || this.save(file)), ms),
    )
  }

  #conflictOf({ updatedBy, updatedAt }: Record<string, unknown>): OpenFile['conflict'] {
    const { updatedBy: last } = this.draft
    return {
      who: this.#nameOf(String(updatedBy), last?.id === updatedBy ? last?.name : undefined),
      at: String(updatedAt),
    }
  }

  #nameOf(id: string | undefined, name = 'Somebody'): string {
    return id === this.#context.playerId ? 'You, in another tab,' : name
  }

  #activate(file: OpenFile, place: Place | null): void {
    this.active = file
    this.place = place
    this.#changed()
  }

  async #try<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await work()
      this.problem = null
      return result
    } catch (error) {
      this.report(error instanceof Refused ? error.message : 'There is no connection to the server. Try again.')
      return undefined
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}

const EMPTY = { text: '', seen: '', dirty: false, saving: false, conflict: null, loads: 0 }

const isConflict = (error: unknown): error is Refused => error instanceof Refused && error.code === 'draft_conflict'
