// Gameyard for Unity's web builds, and for any other program that emcc links (--js-library gameyard.jslib).
// Put it into Assets/Plugins/WebGL, and Gameyard.cs beside it. The platform's own script does the work:
// /__service/engine.js at the address of the game.
//
// In C:
//   typedef void (*gameyard_receive)(int id, int ok, const char *json);
//   typedef void (*gameyard_receive_bytes)(int room, const char *from, const void *bytes, int length);
//   void GameyardStart(gameyard_receive receive, gameyard_receive_bytes receive_bytes);   // first, and once
//   void GameyardSession(int id);  …
// An answer has the number of its call; an event of a room has the negative number of the room.
mergeInto(LibraryManager.library, {
  $Gameyard: {
    engine: null,
    waiting: [],
    /** Runs a call now, or when the platform's script is there. */
    run: function (call) {
      if (Gameyard.engine) call(Gameyard.engine)
      else Gameyard.waiting.push(call)
    },
    /** Copies a text to the memory of the program, for the time of a callback. */
    withText: function (text, use) {
      var size = lengthBytesUTF8(text) + 1
      var pointer = _malloc(size)
      stringToUTF8(text, pointer, size)
      try {
        use(pointer)
      } finally {
        _free(pointer)
      }
    },
  },

  GameyardStart__deps: ['$Gameyard', 'malloc', 'free'],
  GameyardStart: function (receive, receiveBytes) {
    var onAnswer = function (id, isFine, json) {
      Gameyard.withText(json, function (text) {
        {{{ makeDynCall('viii', 'receive') }}}(id, isFine ? 1 : 0, text)
      })
    }
    var onBytes = function (room, from, bytes) {
      if (!receiveBytes) return
      var pointer = _malloc(bytes.length || 1)
      HEAPU8.set(bytes, pointer)
      try {
        Gameyard.withText(from, function (text) {
          {{{ makeDynCall('viiii', 'receiveBytes') }}}(room, text, pointer, bytes.length)
        })
      } finally {
        _free(pointer)
      }
    }
    import('/__service/engine.js').then(
      function (platform) {
        Gameyard.engine = platform.connect(onAnswer, onBytes)
        Gameyard.waiting.splice(0).forEach(function (call) {
          call(Gameyard.engine)
        })
      },
      function () {
        // This page is not at the address of a game. Every call is answered, so that the game goes on.
        var error = { code: 'no_platform', message: 'This page is not served by a Gameyard platform.' }
        Gameyard.run = function (call, id) {
          if (id > 0) setTimeout(onAnswer, 0, id, false, JSON.stringify(error))
        }
        Gameyard.waiting.splice(0).forEach(function (call) {
          Gameyard.run(call, call.id)
        })
      },
    )
  },

  GameyardSession__deps: ['$GameyardCall'],
  GameyardSession: function (id) {
    GameyardCall(id, 'session', [])
  },
  GameyardSignIn__deps: ['$GameyardCall'],
  GameyardSignIn: function () {
    GameyardCall(0, 'signIn', [])
  },
  GameyardSignOut__deps: ['$GameyardCall'],
  GameyardSignOut: function (id) {
    GameyardCall(id, 'signOut', [])
  },

  GameyardJoin__deps: ['$GameyardCall'],
  GameyardJoin: function (id, room, name) {
    GameyardCall(id, 'join', [room, UTF8ToString(name)])
  },
  GameyardLeave__deps: ['$GameyardCall'],
  GameyardLeave: function (room) {
    GameyardCall(0, 'leave', [room])
  },
  GameyardSend__deps: ['$GameyardCall'],
  GameyardSend: function (room, type, json, to) {
    GameyardCall(0, 'send', [room, UTF8ToString(type), UTF8ToString(json), UTF8ToString(to)])
  },
  GameyardSendBytes__deps: ['$GameyardCall'],
  GameyardSendBytes: function (room, bytes, length) {
    GameyardCall(0, 'sendBytes', [room, HEAPU8.slice(bytes, bytes + length)])
  },
  GameyardSetState__deps: ['$GameyardCall'],
  GameyardSetState: function (room, key, json) {
    GameyardCall(0, 'setState', [room, UTF8ToString(key), UTF8ToString(json)])
  },
  GameyardDeleteState__deps: ['$GameyardCall'],
  GameyardDeleteState: function (room, key) {
    GameyardCall(0, 'deleteState', [room, UTF8ToString(key)])
  },
  GameyardPresence__deps: ['$GameyardCall'],
  GameyardPresence: function (room, json) {
    GameyardCall(0, 'presence', [room, UTF8ToString(json)])
  },
  GameyardNow__deps: ['$Gameyard'],
  GameyardNow: function (room) {
    return Gameyard.engine ? Gameyard.engine.now(room) : 0
  },

  GameyardSaveGet__deps: ['$GameyardCall'],
  GameyardSaveGet: function (id, key) {
    GameyardCall(id, 'saveGet', [UTF8ToString(key)])
  },
  GameyardSaveSet__deps: ['$GameyardCall'],
  GameyardSaveSet: function (id, key, json) {
    GameyardCall(id, 'saveSet', [UTF8ToString(key), UTF8ToString(json)])
  },
  GameyardSaveDelete__deps: ['$GameyardCall'],
  GameyardSaveDelete: function (id, key) {
    GameyardCall(id, 'saveDelete', [UTF8ToString(key)])
  },

  GameyardScoreSubmit__deps: ['$GameyardCall'],
  GameyardScoreSubmit: function (id, board, score, json) {
    GameyardCall(id, 'scoreSubmit', [UTF8ToString(board), score, UTF8ToString(json)])
  },
  GameyardScoreTop__deps: ['$GameyardCall'],
  GameyardScoreTop: function (id, board, limit) {
    GameyardCall(id, 'scoreTop', [UTF8ToString(board), limit])
  },
  GameyardScoreAround__deps: ['$GameyardCall'],
  GameyardScoreAround: function (id, board, limit) {
    GameyardCall(id, 'scoreAround', [UTF8ToString(board), limit])
  },

  /** Calls the platform's script. A call with a number has it as the first argument, and is answered. */
  $GameyardCall__deps: ['$Gameyard'],
  $GameyardCall: function (id, name, values) {
    var call = function (engine) {
      engine[name].apply(engine, id > 0 ? [id].concat(values) : values)
    }
    call.id = id
    Gameyard.run(call, id)
  },
})
