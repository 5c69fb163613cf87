import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/index.js';
import { CardController } from './card.controller.js';
import { CardService } from './card.service.js';

@Module({
  imports: [AgentsModule],
  controllers: [CardController],
  providers: [CardService],
  exports: [CardService],
})
export class CardsModule {}
