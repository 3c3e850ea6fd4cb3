/* Gameyard for C, to compile to WebAssembly without a JavaScript runtime (clang --target=wasm32, emcc -sSTANDALONE_WASM).
 * gameyard-wasm.js provides the imports. A text is UTF-8 with its length in bytes, and need not end with a zero. */
#ifndef GAMEYARD_H
#define GAMEYARD_H
#include <stddef.h>

#define GAMEYARD_IMPORT(name) __attribute__((import_module("gameyard"), import_name(#name)))
#define GAMEYARD_EXPORT(name) __attribute__((export_name(#name)))

/* What the program defines, each with GAMEYARD_EXPORT(name) before it. The first returns room for `size` bytes. */
void *gameyard_alloc(size_t size);
/* An answer to the call `id`, or an event of the room `-id`: `ok` is 1, or 0 with {"code","message"}. Frees `json`. */
void gameyard_receive(int id, int ok, char *json, size_t length);
void gameyard_receive_bytes(int room, char *from, size_t from_length, void *bytes, size_t length);

/* Who plays: {"signedIn","id","name","imageUrl"}. */
GAMEYARD_IMPORT(gameyard_session)
void gameyard_session(int id);
GAMEYARD_IMPORT(gameyard_sign_in)
void gameyard_sign_in(void);
GAMEYARD_IMPORT(gameyard_sign_out)
void gameyard_sign_out(int id);

/* Rooms. The answer to a join is {"me","capacity"}; `room` is a number of your choice, above 0. */
GAMEYARD_IMPORT(gameyard_join)
void gameyard_join(int id, int room, const char *name, size_t length);
GAMEYARD_IMPORT(gameyard_leave)
void gameyard_leave(int room);
/* `to`: empty for all others, "all", "host", or ids with commas between. */
GAMEYARD_IMPORT(gameyard_send)
void gameyard_send(int room, const char *type, size_t type_length, const char *json, size_t json_length,
    const char *to, size_t to_length);
GAMEYARD_IMPORT(gameyard_send_bytes)
void gameyard_send_bytes(int room, const void *bytes, size_t length);
GAMEYARD_IMPORT(gameyard_set_state)
void gameyard_set_state(int room, const char *key, size_t key_length, const char *json, size_t json_length);
GAMEYARD_IMPORT(gameyard_delete_state)
void gameyard_delete_state(int room, const char *key, size_t length);
GAMEYARD_IMPORT(gameyard_presence)
void gameyard_presence(int room, const char *json, size_t length);
/* The time of the server in ms since 1970. */
GAMEYARD_IMPORT(gameyard_now)
double gameyard_now(int room);

/* Saves: {"exists","value"}; `value` is JSON text. */
GAMEYARD_IMPORT(gameyard_save_get)
void gameyard_save_get(int id, const char *key, size_t length);
GAMEYARD_IMPORT(gameyard_save_set)
void gameyard_save_set(int id, const char *key, size_t key_length, const char *json, size_t json_length);
GAMEYARD_IMPORT(gameyard_save_delete)
void gameyard_save_delete(int id, const char *key, size_t length);

/* Scores: {"sent","score","best","rank","total","improved"}; lists are {"entries","total","rank"}. */
GAMEYARD_IMPORT(gameyard_score_submit)
void gameyard_score_submit(int id, const char *board, size_t board_length, double score, const char *json,
    size_t json_length);
GAMEYARD_IMPORT(gameyard_score_top)
void gameyard_score_top(int id, const char *board, size_t length, int limit);
GAMEYARD_IMPORT(gameyard_score_around)
void gameyard_score_around(int id, const char *board, size_t length, int limit);
#endif
