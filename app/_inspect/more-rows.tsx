import { formatCount } from "#protocol/units.ts";
import { Button } from "../_ui/button.tsx";

/** The end of a list of which only the beginning is drawn. */
export function MoreRows({ count, shown, onAll }: { count: number; shown: number; onAll: () => void }) {
  if (count <= shown) return null;
  return (
    <div className="border-t border-line px-3 py-1.5">
      <Button look="quiet" size="small" onClick={onAll}>
        Show all {formatCount(count)}
      </Button>
    </div>
  );
}
