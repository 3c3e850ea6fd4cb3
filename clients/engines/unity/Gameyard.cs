// Gameyard for Unity: who plays, rooms, saves and scores of the platform that serves the game.
// Put this file and gameyard.jslib into Assets/Plugins/WebGL. It works in web builds; in the editor every call fails
// with the code "no_platform".
//
//   var session = await Gameyard.Session();
//   var room = await Gameyard.Join("lobby");
//   room.Message += (type, json, from) => Debug.Log(type + json);
//   room.Send("move", JsonUtility.ToJson(position));
//   await Gameyard.Save("progress", JsonUtility.ToJson(progress));
//   var place = await Gameyard.Board("fastest").Submit(12345);
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading.Tasks;
using AOT;
using UnityEngine;

/// <summary>A refused call. The code is one of the platform's, such as "unauthorized" or "offline".</summary>
public class GameyardException : Exception
{
    public readonly string Code;
    public GameyardException(string code, string message) : base(message) { Code = code; }
}

public static class Gameyard
{
    /// <summary>Who plays. Id, name and imageUrl are empty where nobody is signed in.</summary>
    [Serializable] public class Player { public bool signedIn; public string id; public string name; public string imageUrl; }
    [Serializable] public class Submitted { public bool sent; public double score; public double best; public int rank; public int total; public bool improved; }
    [Serializable] public class Entry { public int rank; public double score; public string id; public string name; public bool me; }
    /// <summary>A part of a board. Rank is the player's own; 0 where there is none.</summary>
    [Serializable] public class ScoreList { public Entry[] entries; public int total; public int rank; }

    /// <summary>Returns who plays.</summary>
    public static Task<Player> Session() { return Ask<Player>(id => GameyardSession(id)); }

    /// <summary>Leads to the sign-in, and back to the game. Call it when the player presses a button.</summary>
    public static void SignIn() { Start(); GameyardSignIn(); }

    /// <summary>Signs the player out, and loads the game again.</summary>
    public static Task SignOut() { return Ask<Nothing>(id => GameyardSignOut(id)); }

    /// <summary>Enters a room, which is created when it is empty.</summary>
    public static async Task<GameyardRoom> Join(string name)
    {
        var number = ++rooms;
        var room = new GameyardRoom(number);
        open[number] = room;
        try
        {
            var joined = await Ask<Joined>(id => GameyardJoin(id, number, name));
            room.Me = joined.me;
            room.Capacity = joined.capacity;
            return room;
        }
        catch
        {
            open.Remove(number);
            throw;
        }
    }

    /// <summary>Reads a save as JSON; null when there is none.</summary>
    public static async Task<string> Load(string key)
    {
        var save = await Ask<Saved>(id => GameyardSaveGet(id, key));
        return save.exists ? save.value : null;
    }

    /// <summary>Saves JSON. It can't be lost once the task has completed.</summary>
    public static Task Save(string key, string json) { return Ask<Nothing>(id => GameyardSaveSet(id, key, json)); }

    public static Task DeleteSave(string key) { return Ask<Nothing>(id => GameyardSaveDelete(id, key)); }

    /// <summary>Returns a leaderboard of the game.</summary>
    public static GameyardBoard Board(string name) { return new GameyardBoard(name); }

    [Serializable] class Nothing { }
    [Serializable] class Joined { public string me; public int capacity; }
    [Serializable] class Saved { public bool exists; public string value; }
    [Serializable] class Refusal { public string code; public string message; }

    static readonly Dictionary<int, Action<bool, string>> asked = new Dictionary<int, Action<bool, string>>();
    static readonly Dictionary<int, GameyardRoom> open = new Dictionary<int, GameyardRoom>();
    static int calls;
    static int rooms;
    static bool isStarted;

    internal static Task<T> Ask<T>(Action<int> call)
    {
        var result = new TaskCompletionSource<T>();
        var id = ++calls;
        asked[id] = (isFine, json) =>
        {
            if (isFine) { result.SetResult(JsonUtility.FromJson<T>(json)); return; }
            var refusal = JsonUtility.FromJson<Refusal>(json);
            result.SetException(new GameyardException(refusal.code, refusal.message));
        };
        try { Start(); call(id); }
        catch (EntryPointNotFoundException) { Receive(id, 0, "{\"code\":\"no_platform\",\"message\":\"The platform is there in web builds only.\"}"); }
        return result.Task;
    }

    internal static void Forget(int room) { open.Remove(room); }

    static void Start()
    {
        if (isStarted) return;
        GameyardStart(Receive, ReceiveBytes);
        isStarted = true;
    }

    delegate void OnReceive(int id, int isFine, string json);
    delegate void OnReceiveBytes(int room, string from, IntPtr bytes, int length);

    [MonoPInvokeCallback(typeof(OnReceive))]
    static void Receive(int id, int isFine, string json)
    {
        GameyardRoom room;
        Action<bool, string> answer;
        if (id < 0 && open.TryGetValue(-id, out room)) room.Receive(json);
        else if (asked.TryGetValue(id, out answer)) { asked.Remove(id); answer(isFine != 0, json); }
    }

    [MonoPInvokeCallback(typeof(OnReceiveBytes))]
    static void ReceiveBytes(int number, string from, IntPtr bytes, int length)
    {
        GameyardRoom room;
        if (!open.TryGetValue(number, out room)) return;
        var copy = new byte[length];
        Marshal.Copy(bytes, copy, 0, length);
        room.ReceiveBytes(copy, from);
    }

    [DllImport("__Internal")] static extern void GameyardStart(OnReceive receive, OnReceiveBytes receiveBytes);
    [DllImport("__Internal")] static extern void GameyardSession(int id);
    [DllImport("__Internal")] static extern void GameyardSignIn();
    [DllImport("__Internal")] static extern void GameyardSignOut(int id);
    [DllImport("__Internal")] static extern void GameyardJoin(int id, int room, string name);
    [DllImport("__Internal")] internal static extern void GameyardLeave(int room);
    [DllImport("__Internal")] internal static extern void GameyardSend(int room, string type, string json, string to);
    [DllImport("__Internal")] internal static extern void GameyardSendBytes(int room, byte[] bytes, int length);
    [DllImport("__Internal")] internal static extern void GameyardSetState(int room, string key, string json);
    [DllImport("__Internal")] internal static extern void GameyardDeleteState(int room, string key);
    [DllImport("__Internal")] internal static extern void GameyardPresence(int room, string json);
    [DllImport("__Internal")] internal static extern double GameyardNow(int room);
    [DllImport("__Internal")] static extern void GameyardSaveGet(int id, string key);
    [DllImport("__Internal")] static extern void GameyardSaveSet(int id, string key, string json);
    [DllImport("__Internal")] static extern void GameyardSaveDelete(int id, string key);
    [DllImport("__Internal")] internal static extern void GameyardScoreSubmit(int id, string board, double score, string json);
    [DllImport("__Internal")] internal static extern void GameyardScoreTop(int id, string board, int limit);
    [DllImport("__Internal")] internal static extern void GameyardScoreAround(int id, string board, int limit);
}

/// <summary>A leaderboard.</summary>
public class GameyardBoard
{
    readonly string name;
    internal GameyardBoard(string name) { this.name = name; }

    /// <summary>Submits a score of the player. Without a connection it is sent later, and `sent` is false.</summary>
    /// <param name="detail">JSON of at most 1 KiB that is shown with the score</param>
    public Task<Gameyard.Submitted> Submit(double score, string detail = "") { return Gameyard.Ask<Gameyard.Submitted>(id => Gameyard.GameyardScoreSubmit(id, name, score, detail)); }

    public Task<Gameyard.ScoreList> Top(int limit = 10) { return Gameyard.Ask<Gameyard.ScoreList>(id => Gameyard.GameyardScoreTop(id, name, limit)); }

    /// <summary>Reads the entries around that of the player.</summary>
    public Task<Gameyard.ScoreList> Around(int limit = 7) { return Gameyard.Ask<Gameyard.ScoreList>(id => Gameyard.GameyardScoreAround(id, name, limit)); }
}

/// <summary>A room. It reconnects automatically. Its events arrive on Unity's main thread.</summary>
public class GameyardRoom
{
    [Serializable] public class Player { public string id; public string name; public string imageUrl; public string data; public bool isMe; public bool isHost; }

    /// <summary>A message: its type, its data as JSON, and the id of its sender; empty for the room's script.</summary>
    public event Action<string, string, string> Message;
    /// <summary>Bytes, and the id of their sender.</summary>
    public event Action<byte[], string> Bytes;
    /// <summary>The players have changed: who is there, who is the host, or the data of one.</summary>
    public event Action PlayersChanged;
    /// <summary>A key of the shared state has changed; its JSON, or null when it is gone.</summary>
    public event Action<string, string> StateChanged;
    /// <summary>The connection is lost; the room tries to come back.</summary>
    public event Action Reconnecting;
    public event Action Reconnected;
    /// <summary>The room refused something: a code, and a message.</summary>
    public event Action<string, string> Refused;
    /// <summary>The end, with its reason. It comes once.</summary>
    public event Action<string> Left;

    /// <summary>The id of this player in the room.</summary>
    public string Me { get; internal set; }
    public int Capacity { get; internal set; }
    public IReadOnlyList<Player> Players { get; private set; }
    /// <summary>The shared state: JSON by key.</summary>
    public readonly Dictionary<string, string> State = new Dictionary<string, string>();
    /// <summary>The time of the server in ms since 1970, the same for all players.</summary>
    public double Now { get { return Gameyard.GameyardNow(number); } }
    public bool IsHost { get { foreach (var player in Players) if (player.isMe) return player.isHost; return false; } }

    readonly int number;
    internal GameyardRoom(int number) { this.number = number; Players = new Player[0]; }

    /// <param name="to">empty: all others; "all", "host", or ids with commas between</param>
    public void Send(string type, string json = "", string to = "") { Gameyard.GameyardSend(number, type, json, to); }
    /// <summary>Sends bytes to all others, for data that changes many times a second.</summary>
    public void Send(byte[] bytes) { Gameyard.GameyardSendBytes(number, bytes, bytes.Length); }
    public void SetState(string key, string json) { Gameyard.GameyardSetState(number, key, json); }
    public void DeleteState(string key) { Gameyard.GameyardDeleteState(number, key); }
    /// <summary>Sets the data of this player, which the others see in `Players`.</summary>
    public void SetPresence(string json) { Gameyard.GameyardPresence(number, json); }
    public void Leave() { Gameyard.GameyardLeave(number); }

    [Serializable] class Pair { public string key; public string value; }
    [Serializable] class RoomEvent
    {
        public string @event; public string type; public string data; public string from; public string reason;
        public string code; public string message; public bool all; public Player[] players; public Pair[] set; public string[] removed;
    }

    internal void ReceiveBytes(byte[] bytes, string from) { Bytes?.Invoke(bytes, from); }

    internal void Receive(string json)
    {
        var told = JsonUtility.FromJson<RoomEvent>(json);
        switch (told.@event)
        {
            case "message": Message?.Invoke(told.type, told.data, told.from); break;
            case "players": Players = told.players; PlayersChanged?.Invoke(); break;
            case "state":
                if (told.all) State.Clear();
                foreach (var pair in told.set) { State[pair.key] = pair.value; StateChanged?.Invoke(pair.key, pair.value); }
                foreach (var key in told.removed) { State.Remove(key); StateChanged?.Invoke(key, null); }
                break;
            case "reconnecting": Reconnecting?.Invoke(); break;
            case "reconnected": Reconnected?.Invoke(); break;
            case "error": Refused?.Invoke(told.code, told.message); break;
            case "left": Gameyard.Forget(number); Left?.Invoke(told.reason); break;
        }
    }
}
