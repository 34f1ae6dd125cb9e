-- Where an epoch branches off as a new line of training; that its program did not go on from what it was given; and until
-- when a person has seen such programs of the run.
ALTER TABLE "Epoch" ADD COLUMN "branch" TEXT;
ALTER TABLE "Epoch" ADD COLUMN "passedOver" TEXT;
ALTER TABLE "Run" ADD COLUMN "lineSeenAt" DATETIME;
ALTER TABLE "Run" ADD COLUMN "lineSeenBy" TEXT;
