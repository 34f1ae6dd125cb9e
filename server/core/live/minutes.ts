import * as z from "zod";

/** The range of a chart in minutes: at most a week, which is as long as minutes are kept. */
export const minutes = z.number().int().min(1).max(10_080);
