import type { RuleView } from "#protocol/alerts/alert-views.ts";
import { hubNow } from "../_hub/live/live.tsx";

export const isMuted = ({ mutedUntil }: RuleView): boolean => mutedUntil !== null && mutedUntil > hubNow();
