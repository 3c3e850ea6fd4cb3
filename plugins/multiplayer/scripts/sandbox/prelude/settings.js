// `settings` of the script, checked. See prelude.js.
;(() => {
  const { floor } = Math
  const TooMuch = RangeError
  /** More than any room has. */
  const MOST_PLAYERS = 1e6

  /** Returns an operation. @throws RangeError for a setting that is none */
  return (settings, hasSnapshot) => {
    const { tick = 0, players = null, clientState = false, relay = false, listed = true } = settings ?? {}
    if (typeof tick !== 'number' || !(tick >= 0 && tick <= 60)) throw new TooMuch('settings.tick is 0 to 60.')
    if (
      players !== null &&
      !(typeof players === 'number' && players >= 1 && players <= MOST_PLAYERS && players === floor(players))
    ) {
      throw new TooMuch(`settings.players is 1 to ${MOST_PLAYERS}.`)
    }
    // Without `stringify`, which would call a method `toJSON` that the script may have added to all objects.
    const flags = `"clientState":${clientState === true},"relay":${relay === true},"listed":${listed !== false}`
    return `O\t{"tick":${tick},"players":${players},${flags},"snapshot":${hasSnapshot}}\n`
  }
})()
