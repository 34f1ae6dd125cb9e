import * as z from "zod";
import { PROVIDERS } from "./provider-names.ts";

/** A known S3 service. `storage/providers` describes each of them. */
export const provider = z.enum(PROVIDERS);
export type Provider = z.infer<typeof provider>;
