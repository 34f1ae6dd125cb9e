import { admin, router } from "#server/core/api/trpc.ts";

export const settingsRouter = router({
  list: admin.query(({ ctx }) => ctx.hub.settings.described),
});
