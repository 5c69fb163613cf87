import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/index.js';
import { AuthModule } from '../auth/index.js';
import { Config } from '../config/index.js';
import { CardController } from './card.controller.js';
import { CardKeys } from './card.keys.js';
import { CardReaders } from './card.readers.js';
import { CardService } from './card.service.js';
import { CatalogController } from './catalog.controller.js';
import { JwksController } from './jwks.controller.js';

@Module({
  imports: [AgentsModule, AuthModule],
  controllers: [CardController, CatalogController, JwksController],
  providers: [
    CardReaders,
    CardService,
    { provide: CardKeys, inject: [Config], useFactory: (config: Config) => CardKeys.load(config) },
  ],
  exports: [CardService],
})
export class CardsModule {}
