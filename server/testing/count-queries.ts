import type { Hub } from "../core/api/hub.ts";

/** For tests: the same hub for one caller, with a note of every question that is asked for it. What the clock does is not in it. */
export function countQueries(hub: Hub): { hub: Hub; asked: () => string[] } {
  const asked: string[] = [];
  const db = hub.db.$extends({
    query: {
      $allOperations: async ({ model, operation, args, query }) => {
        asked.push(`${model ?? "raw"}.${operation}`);
        return query(args);
      },
    },
  });
  return { hub: { ...hub, db: db as Hub["db"] }, asked: () => [...asked] };
}
