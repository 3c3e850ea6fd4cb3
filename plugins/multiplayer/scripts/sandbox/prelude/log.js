// `room.log`, and exceptions of the script. See prelude.js.
;(() => {
  const { stringify } = JSON
  const NativeError = Error
  const LONGEST_LINE = 2000
  const MOST_LINES = 20

  /** Writes a whole number with a comma after each three digits. */
  function grouped(number) {
    const digits = `${number}`
    let text = ''
    for (let at = 0; at < digits.length; at++)
      text += at > 0 && (digits.length - at) % 3 === 0 ? `,${digits[at]}` : digits[at]
    return text
  }

  return ({ json, cut, write }) => {
    let lines = 0
    function log(...values) {
      if (++lines > MOST_LINES) return
      let text = ''
      for (let at = 0; at < values.length && text.length < LONGEST_LINE; at++) {
        const value = values[at]
        let shown
        if (typeof value === 'string') shown = value
        else if (value instanceof NativeError) shown = `${value.name}: ${value.message}`
        else if (typeof value === 'object' && value !== null) shown = json(value)
        else shown = typeof value === 'symbol' ? 'Symbol' : `${value}`
        text += at === 0 ? shown : ` ${shown}`
      }
      write(`G\t${stringify(cut(text, LONGEST_LINE))}\n`)
    }

    const described = (value) => {
      try {
        return cut(`${value}`, LONGEST_LINE)
      } catch {
        return ''
      }
    }
    /**
     * @param {'E' | 'F'} [letter] of the operation: `E` for an exception, `F` for a request that failed
     * @param {string} [player] the id of the player whose message caused it
     */
    function report(error, letter = 'E', player = '') {
      let name = ''
      let message = ''
      let stack = ''
      if (typeof error === 'object' && error !== null) {
        try {
          name = described(error.name)
          message = described(error.message)
          stack = described(error.stack)
        } catch {}
      } else message = described(error)
      // Memory is a limit, which a script does not survive by catching the exception here.
      if (name === 'InternalError' && message === 'out of memory') throw error
      write(`${letter}\t${stringify(name)}\t${stringify(message)}\t${stringify(stack)}\t${stringify(player)}\n`)
    }

    /** Lets the script log as many lines again, and logs how many were too many. */
    function beginTurn() {
      if (lines > MOST_LINES) write(`G\t${stringify(`${grouped(lines - MOST_LINES)} lines were left out.`)}\n`)
      lines = 0
    }
    return { log, report, beginTurn }
  }
})()
