import * as z from "zod";
import { PROVIDERS } from "./provider-names.ts";

/** One of the services that are known by name. What each of them is like is in `storage/providers`. */
export const provider = z.enum(PROVIDERS);
export type Provider = z.infer<typeof provider>;
