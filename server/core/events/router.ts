import { listAuditInput } from "#protocol/fleet/people.ts";
import { listEventsInput } from "#protocol/wire/requests.ts";
import { admin, router, viewer } from "../api/trpc.ts";
import { listAudit } from "./list-audit.ts";
import { listEvents } from "./list.ts";

export const eventsRouter = router({
  list: viewer.input(listEventsInput).query(({ ctx, input }) => listEvents(ctx.hub, input)),
});

export const auditRouter = router({
  list: admin.input(listAuditInput).query(({ ctx, input }) => listAudit(ctx.hub, input)),
});
