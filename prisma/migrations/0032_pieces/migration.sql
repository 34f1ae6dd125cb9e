-- Several nodes write an epoch together, each the pieces on its own disk, and the hub joins them.
ALTER TABLE "Epoch" ADD COLUMN "groupOf" INTEGER;
ALTER TABLE "Checkpoint" ADD COLUMN "piece" TEXT;
ALTER TABLE "Checkpoint" ADD COLUMN "joinedId" TEXT;
CREATE INDEX "Checkpoint_joinedId_idx" ON "Checkpoint"("joinedId");
CREATE TABLE "EpochMember" (
    "run" TEXT NOT NULL,
    "epoch" INTEGER NOT NULL,
    "rank" INTEGER NOT NULL,
    "nodeId" TEXT NOT NULL,
    "start" TEXT NOT NULL,
    "joinedAt" DATETIME NOT NULL,
    PRIMARY KEY ("run", "epoch", "rank"),
    CONSTRAINT "EpochMember_run_epoch_fkey" FOREIGN KEY ("run", "epoch") REFERENCES "Epoch" ("run", "epoch") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "EpochMember_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "EpochMember_nodeId_idx" ON "EpochMember"("nodeId");
