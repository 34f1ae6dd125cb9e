"use client";
import { useWhyNot } from "../_hub/session/person.tsx";
import { ButtonLink } from "../_ui/controls/button.tsx";

/** Links from a transfer that CORS blocked to the bucket's CORS rule, which is shown there before it is written. */
export function CorsOffer({ profileId }: { profileId: string }) {
  const whyNot = useWhyNot("admin");
  if (whyNot !== null) return <> {whyNot}</>;
  return (
    <div className="pt-1.5">
      <ButtonLink size="small" href={`/buckets?cors=${encodeURIComponent(profileId)}`}>
        Set the CORS rule…
      </ButtonLink>
    </div>
  );
}
