import type * as z from "zod";
import type { listEventsInput } from "#protocol/wire/requests.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import type { Hub } from "../api/hub.ts";
import { eventRowOf } from "./event-row.ts";

const SEARCHED = ["text", "detail", "nodeName", "run", "fault"] as const;

const timesOf = ({ from, to }: { from: number | null; to: number | null }) => ({
  ...(from === null ? {} : { gte: new Date(from) }),
  ...(to === null ? {} : { lt: new Date(to) }),
});

/** Returns events, newest first; `nextCursor` is null on the last page. */
export async function listEvents(
  hub: Hub,
  input: z.infer<typeof listEventsInput>,
): Promise<{ rows: EventRow[]; nextCursor: number | null }> {
  const found = await hub.db.event.findMany({
    where: {
      ...(input.cursor === null ? {} : { id: { lt: input.cursor } }),
      ...(input.nodeId === null ? {} : { nodeId: input.nodeId }),
      ...(input.run === null ? {} : { run: input.run }),
      ...(input.kinds.length === 0 ? {} : { kind: { in: input.kinds } }),
      ...(input.nodeWords === "" ? {} : { nodeName: { contains: input.nodeWords } }),
      ...(input.runWords === "" ? {} : { AND: { run: { contains: input.runWords } } }),
      ...(input.from === null && input.to === null ? {} : { at: timesOf(input) }),
      ...(input.words === "" ? {} : { OR: SEARCHED.map((field) => ({ [field]: { contains: input.words } })) }),
    },
    orderBy: { id: "desc" },
    take: input.limit + 1,
  });
  const rows = found.slice(0, input.limit).map(eventRowOf);
  return { rows, nextCursor: found.length > input.limit ? (rows.at(-1)?.id ?? null) : null };
}
