/**
 * Detects the most common passwords by a rule rather than a long list. Nearly every password of ten characters or more
 * at the top of leaked lists is a common word or keyboard run, perhaps twice, with digits and signs around it.
 */
const WORDS = new Set(
  `password passwort motdepasse contrasena senha parola wachtwoord passphrase passcode secret secure security letmein
  welcome hello login logon admin administrator root superuser guest user username default changeme change test testing
  tester temp temporary master access account internet computer server database network system windows microsoft apple
  google facebook twitter instagram youtube linkedin amazon minecraft fortnite pokemon pikachu playstation nintendo xbox
  gamer gameyard game games player starwars startrek matrix batman superman spiderman ironman wonderwoman naruto dragonball
  dragon monkey tiger eagle falcon phoenix unicorn butterfly elephant football soccer baseball basketball hockey
  volleyball cricket liverpool arsenal chelsea barcelona realmadrid manchester juventus yankees cowboys steelers lakers
  iloveyou ilovegod iloveme iloveu loveyou loveme lovely love forever together always friends family mother father brother
  sister princess princesa prince queen king angel angels babygirl babyboy baby sweetheart sweety honey sunshine
  sunflower rainbow flower flowers summer winter spring autumn january february march april june july august september
  october november december monday tuesday wednesday thursday friday saturday sunday michael michelle jessica jennifer
  daniel andrew joshua matthew anthony william robert charlie thomas jordan hunter harley ashley amanda nicole samantha
  elizabeth stephanie alexander alexandra christopher christian patrick richard jonathan benjamin victoria isabella
  trustno whatever nothing something anything everything blink metallica slipknot nirvana eminem greenday chocolate
  cookie cheese banana orange strawberry pepper ginger silver golden diamond platinum mustang ferrari porsche mercedes
  corvette camaro freedom liberty america american england london paris berlin madrid moscow texas florida california
  newyork jesus jesuschrist christ heaven blessed letmeinnow opensesame abracadabra supersecret topsecret
  correcthorsebatterystaple`.split(/\s+/),
)

const RUNS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  '98765432109876543210',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm',
  'q1w2e3r4t5y6u7i8o9p0',
  '1q2w3e4r5t6y7u8i9o0p',
  'qazwsxedcrfvtgbyhnujm',
]

const LEET: Record<string, string> = { '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', $: 's' }

/** Whether a lower-case password is one of the most common ones. */
export function isCommon(password: string): boolean {
  if (new Set(password).size <= 3) return true
  const plain = password.replace(/[\s_.-]/g, '')
  const bare = plain.replace(/^[^a-z@$]+|[^a-z@$]+$/g, '')
  const readings = [plain, readLeet(plain), readLeet(bare)].filter(Boolean)
  return readings.some((reading) => {
    const words = reading.split(/[^a-z]+/).filter(Boolean)
    return isRun(reading) || isRepeated(reading) || (words.length > 0 && words.every(isCommonWord))
  })
}

const readLeet = (text: string): string => text.replace(/[013457@$]/g, (sign) => LEET[sign] as string)

const isCommonWord = (word: string): boolean =>
  word.length <= 2 || isRun(word) || WORDS.has(word) || (isRepeated(word) && word.length <= 20) || isPair(word)

/** Whether a word consists of two words: `passwordpassword`, `adminlogin`. */
function isPair(word: string): boolean {
  for (let cut = 3; cut <= word.length - 3; cut++) {
    if (WORDS.has(word.slice(0, cut)) && WORDS.has(word.slice(cut)) && word.length < 16) return true
  }
  return false
}

/** Whether a text is one or more runs of keys or letters in either direction: `qwertyuiop`, `1234554321`. */
function isRun(text: string): boolean {
  let rest = text
  while (rest.length > 0) {
    const length = longestRun(rest)
    if (length < Math.min(3, text.length)) return false
    rest = rest.slice(length)
  }
  return true
}

function longestRun(text: string): number {
  for (let length = text.length; length >= 3; length--) {
    const start = text.slice(0, length)
    const backwards = [...start].reverse().join('')
    if (RUNS.some((run) => run.includes(start) || run.includes(backwards)) || /^(.)\1{2,}$/u.test(start)) return length
  }
  return 0
}

/** Whether a text repeats one short piece: `abcabcabcabc`. */
function isRepeated(text: string): boolean {
  for (let length = 1; length <= text.length / 2 && length <= 6; length++) {
    if (text.length % length === 0 && text.slice(0, length).repeat(text.length / length) === text) return true
  }
  return false
}
