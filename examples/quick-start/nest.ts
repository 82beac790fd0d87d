import { Body, Controller, Module, Post, UnauthorizedException } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createReprise, hashSecret, memoryStore } from 'reprise'
import { IdempotencyModule, Idempotent } from 'reprise/nest'

export const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
await reprise.ready()
const caller = ({ headers }: { headers: { authorization?: string } }) => {
  if (!headers.authorization) throw new UnauthorizedException()
  return hashSecret(headers.authorization)
}
const charges: unknown[] = []
@Controller('charges')
class Charges {
  @Post() @Idempotent() create(@Body() charge: unknown) {
    return { id: charges.push(charge) }
  }
}
@Module({ imports: [IdempotencyModule.forRoot({ reprise, caller })], controllers: [Charges] })
class App {}
export const server = await (await NestFactory.create(App)).listen(process.env.PORT ?? 3000)
