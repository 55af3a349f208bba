/* The engine as a whole; a scenario includes it, then defines its threads. */

#include "Cell.pml"
#include "Observers.pml"
#include "CancellationRequest.pml"
#include "Adoption.pml"
#include "Abandonment.pml"
#include "Resolver.pml"

#define LOCALS CELL_LOCALS OBSERVERS_LOCALS HANDLER_LOCALS CANCELLATION_LOCALS ADOPTION_LOCALS \
  ABANDONMENT_LOCALS RESOLVER_LOCALS

#include "Handler.pml"
