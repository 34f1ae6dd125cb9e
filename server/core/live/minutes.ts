import * as z from "zod";

/** How far back a chart goes: up to a week, which is what is kept. */
export const minutes = z.number().int().min(1).max(10_080);
