import { Injectable } from '@nestjs/common';
import { AuditLog } from '../auth/index.js';
import { PushService } from '../push/index.js';

/** Puts every push config that is given up into the audit log: its receiver misses what it was promised. */
@Injectable()
export class PushAlarm {
  constructor(push: PushService, audit: AuditLog) {
    push.onGivenUp(({ taskId, agent, target }, { status, error }) => {
      const reason = status === undefined ? error : `HTTP ${status}`;
      audit.record({ act: 'push.dead', agent, taskId, configId: target.id, host: target.host, reason });
    });
  }
}
