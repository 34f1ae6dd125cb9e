import { admin, router } from "../trpc.ts";

export const settingsRouter = router({
  list: admin.query(({ ctx }) => ctx.hub.settings.described),
});
