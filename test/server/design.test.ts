import { describeDesign } from './design.ts'

describeDesign('external')
