import { classNames } from "../../_ui/rendering/class-names.ts";
import { Mark } from "../../_ui/indicators/mark.tsx";

const STEPS = [
  { id: "account", label: "Account" },
  { id: "bucket", label: "Bucket" },
  { id: "node", label: "Node" },
] as const;

/** Shows the three setup steps with the current one. */
export function StepWords({ step }: { step: (typeof STEPS)[number]["id"] }) {
  const at = STEPS.findIndex((one) => one.id === step);
  return (
    <ol aria-label="Steps" className="flex gap-5">
      {STEPS.map((one, index) => (
        <li
          key={one.id}
          aria-current={index === at ? "step" : undefined}
          className={classNames("flex items-center gap-2", index === at ? "font-mid" : "text-faint")}
        >
          <Mark
            tone={index < at ? "safe" : index === at ? "moving" : "quiet"}
            label={index < at ? "done" : index === at ? "now" : "later"}
          />
          {one.label}
        </li>
      ))}
    </ol>
  );
}
