import type { Hub } from "../core/api/hub.ts";

/** Returns the hub for one caller, with a log of its database queries but not those of periodic jobs. For tests. */
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
