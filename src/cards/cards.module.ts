import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/index.js';
import { Config } from '../config/index.js';
import { CardController } from './card.controller.js';
import { CardKeys } from './card.keys.js';
import { CardService } from './card.service.js';
import { JwksController } from './jwks.controller.js';

@Module({
  imports: [AgentsModule],
  controllers: [CardController, JwksController],
  providers: [
    CardService,
    { provide: CardKeys, inject: [Config], useFactory: (config: Config) => CardKeys.load(config) },
  ],
  exports: [CardService],
})
export class CardsModule {}
