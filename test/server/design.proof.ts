import { describeDesign } from './design.ts'

describeDesign('embedded')
