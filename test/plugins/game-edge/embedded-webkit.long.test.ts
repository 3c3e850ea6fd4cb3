import { testEmbeddedGames } from './embedded-suite.ts'

testEmbeddedGames('webkit')
