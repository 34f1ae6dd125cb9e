import {
  exportHistoryInput,
  listHistoryInput,
  percentilesInput,
  seriesInput,
  setRegionsInput,
} from "#protocol/history/history.ts";
import { operator, router, viewer } from "../api/trpc.ts";
import { exportHistory } from "./reader/export.ts";
import { listHistory } from "./list.ts";
import { readPercentilesOf, readSeriesOf } from "./reader/percentiles.ts";
import { setRules } from "./regions.ts";

export const historyRouter = router({
  percentiles: viewer.input(percentilesInput).query(({ ctx, input }) => readPercentilesOf(ctx.hub, input)),
  series: viewer.input(seriesInput).query(({ ctx, input }) => readSeriesOf(ctx.hub, input)),
  list: viewer.input(listHistoryInput).query(({ ctx, input }) => listHistory(ctx.hub, input)),
  export: viewer.input(exportHistoryInput).query(({ ctx, input }) => exportHistory(ctx.hub, input)),
  regions: viewer.query(({ ctx }) => ({ rules: ctx.hub.history.rules })),
  setRegions: operator.input(setRegionsInput).mutation(({ ctx, input }) => setRules(ctx, input)),
});
