import t from 'tap'
import { testEveryPage } from './every-page.ts'

testEveryPage(t, 'webkit')
