import { Button } from "../_ui/controls/button.tsx";

interface RowButtonsProps {
  /** Name of the rule or channel. */
  name: string;
  isEnabled: boolean;
  isTurning: boolean;
  /** Null when this person may change it. */
  whyNot: string | null;
  onTurn: () => void;
  onEdit: () => void;
  onRemove: () => void;
}

/** Buttons of a rule or channel: turn on or off, edit, remove. */
export function RowButtons({ name, isEnabled, isTurning, whyNot, onTurn, onEdit, onRemove }: RowButtonsProps) {
  const turn = isEnabled ? "Turn off" : "Turn on";
  const look = { look: "quiet", size: "small", whyNot } as const;
  return (
    <>
      <Button {...look} disabled={isTurning} aria-label={`${turn} ${name}`} onClick={onTurn}>
        {turn}
      </Button>
      <Button {...look} aria-label={`Edit ${name}`} onClick={onEdit}>
        Edit
      </Button>
      <Button {...look} aria-label={`Remove ${name}`} onClick={onRemove}>
        Remove…
      </Button>
    </>
  );
}
