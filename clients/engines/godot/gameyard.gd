extends Node
## Gameyard for Godot 4: who plays, rooms, saves and scores of the platform that serves the game.
##
## Add this file as an autoload with the name `Gameyard` (Project Settings, Globals). It works in web exports. Elsewhere
## every call returns null, and `error` has the code `no_platform`.
## [codeblock]
## var session = await Gameyard.session()
## var room = await Gameyard.join("lobby")
## room.message.connect(func(type, data, from): print(type, data))
## room.send("move", {"x": 3, "y": 4})
## await Gameyard.save("progress", {"level": 2})
## var place = await Gameyard.submit_score("fastest", 12345)
## [/codeblock]

signal _answered(id: int, ok: bool, result: Variant)
signal _ready_to_call

## Why the last call returned null: `{ "code": String, "message": String }`; empty after a call that worked.
var error := {}

var _engine: JavaScriptObject
var _on_answer: JavaScriptObject
var _on_bytes: JavaScriptObject
var _on_loaded: JavaScriptObject
var _is_loaded := false
var _calls := 0
var _rooms := {}
var _last_room := 0


## A room. It reconnects automatically.
class Room:
	extends RefCounted
	## `from` is the id of the sender; empty for the room's script.
	signal message(type: String, data: Variant, from: String)
	signal bytes(data: PackedByteArray, from: String)
	## The players have changed: who is there, who is the host, or the data of one.
	signal players_changed
	## A key of the shared state has changed. `value` is null when it is gone.
	signal state_changed(key: String, value: Variant)
	signal reconnecting
	signal reconnected
	## The room refused something.
	signal refused(code: String, text: String)
	## The end, with its reason. It comes once.
	signal left(reason: String)

	## The id of this player in the room.
	var me := ""
	var capacity := 0
	## Dictionaries with id, name, imageUrl, data, isMe and isHost.
	var players: Array = []
	var state := {}
	var _number: int
	var _engine: JavaScriptObject

	## Sends a message. `to` is empty for all others, "all", "host", or ids with commas between.
	func send(type: String, data: Variant = null, to := "") -> void:
		_engine.send(_number, type, JSON.stringify(data), to)

	## Sends bytes to all others, for data that changes many times a second.
	func send_bytes(data: PackedByteArray) -> void:
		var array = JavaScriptBridge.create_object("Uint8Array", data.size())
		for index in data.size():
			array[index] = data[index]
		_engine.sendBytes(_number, array)

	func set_state(key: String, value: Variant) -> void:
		_engine.setState(_number, key, JSON.stringify(value))

	func delete_state(key: String) -> void:
		_engine.deleteState(_number, key)

	## Sets the data of this player, which the others see in `players`.
	func set_presence(data: Variant) -> void:
		_engine.presence(_number, JSON.stringify(data))

	## The time of the server in ms since 1970, the same for all players.
	func now() -> float:
		return _engine.now(_number)

	func is_host() -> bool:
		return players.any(func(player): return player.isMe and player.isHost)

	func leave() -> void:
		_engine.leave(_number)

	func _receive(told: Dictionary) -> void:
		match told.event:
			"message":
				message.emit(told.type, _parse(told.data), told.from)
			"players":
				players = told.players
				for player in players:
					player.data = _parse(player.data)
				players_changed.emit()
			"state":
				if told.all:
					state.clear()
				for pair in told.set:
					state[pair.key] = _parse(pair.value)
					state_changed.emit(pair.key, state[pair.key])
				for key in told.removed:
					state.erase(key)
					state_changed.emit(key, null)
			"reconnecting":
				reconnecting.emit()
			"reconnected":
				reconnected.emit()
			"error":
				refused.emit(told.code, told.message)
			"left":
				left.emit(told.reason)

	static func _parse(json: String) -> Variant:
		return null if json == "" else JSON.parse_string(json)


func _ready() -> void:
	if not OS.has_feature("web"):
		_is_loaded = true
		return
	_on_answer = JavaScriptBridge.create_callback(_receive)
	_on_bytes = JavaScriptBridge.create_callback(_receive_bytes)
	_on_loaded = JavaScriptBridge.create_callback(_loaded)
	var window = JavaScriptBridge.get_interface("window")
	window.gameyardAnswer = _on_answer
	window.gameyardBytes = _on_bytes
	window.gameyardLoaded = _on_loaded
	JavaScriptBridge.eval("""
		import('/__service/engine.js')
			.then(({ connect }) => connect(
				(id, ok, json) => window.gameyardAnswer(id, ok, json),
				(room, from, bytes) => window.gameyardBytes(room, from, bytes),
			))
			.then((engine) => window.gameyardLoaded(engine), () => window.gameyardLoaded(null))
	""", true)


## Returns who plays: `{ signedIn, id, name, imageUrl }`.
func session() -> Variant:
	return await _ask("session", [])


## Leads to the sign-in, and back to the game. Call it when the player presses a button.
func sign_in() -> void:
	if _engine:
		_engine.signIn()


func sign_out() -> void:
	await _ask("signOut", [])


## Enters a room, which is created when it is empty. Returns a [Gameyard.Room], or null.
func join(room_name: String) -> Variant:
	_last_room += 1
	var room := Room.new()
	room._number = _last_room
	_rooms[room._number] = room
	var joined = await _ask("join", [room._number, room_name])
	if joined == null:
		_rooms.erase(room._number)
		return null
	room.me = joined.me
	room.capacity = int(joined.capacity)
	return room


## Reads a save; null when there is none, or when `error` says why.
func read(key: String) -> Variant:
	var found = await _ask("saveGet", [key])
	return JSON.parse_string(found.value) if found != null and found.exists else null


## Saves a value. Returns whether it can't be lost any more.
func save(key: String, value: Variant) -> bool:
	return await _ask("saveSet", [key, JSON.stringify(value)]) != null


func delete_save(key: String) -> bool:
	return await _ask("saveDelete", [key]) != null


## Submits a score. Returns `{ sent, score, best, rank, total, improved }`, or null.
func submit_score(board: String, score: float, detail: Variant = null) -> Variant:
	return await _ask("scoreSubmit", [board, score, "" if detail == null else JSON.stringify(detail)])


## Returns `{ entries, total, rank }` with the first entries, or null.
func top_scores(board: String, limit := 10) -> Variant:
	return await _ask("scoreTop", [board, limit])


## Returns the entries around the player, in the same form.
func scores_around(board: String, limit := 7) -> Variant:
	return await _ask("scoreAround", [board, limit])


func _loaded(arguments: Array) -> void:
	_engine = arguments[0]
	_is_loaded = true
	_ready_to_call.emit()


func _ask(function: String, values: Array) -> Variant:
	if not _is_loaded:
		await _ready_to_call
	if _engine == null:
		error = {"code": "no_platform", "message": "This game is not served by a Gameyard platform."}
		return null
	_calls += 1
	var id := _calls
	if function == "join":
		_rooms[values[0]]._engine = _engine
	_engine.callv(function, [id] + values)
	while true:
		var answer: Array = await _answered
		if answer[0] != id:
			continue
		error = {} if answer[1] else answer[2]
		return answer[2] if answer[1] else null
	return null


func _receive(arguments: Array) -> void:
	var id := int(arguments[0])
	var result = JSON.parse_string(arguments[2])
	if id > 0:
		_answered.emit(id, bool(arguments[1]), result)
	elif _rooms.has(-id):
		var room: Room = _rooms[-id]
		room._receive(result)
		if result.event == "left":
			_rooms.erase(-id)


func _receive_bytes(arguments: Array) -> void:
	var number := int(arguments[0])
	if not _rooms.has(number):
		return
	var data := PackedByteArray()
	data.resize(int(arguments[2].length))
	for index in data.size():
		data[index] = int(arguments[2][index])
	_rooms[number].bytes.emit(data, str(arguments[1]))
