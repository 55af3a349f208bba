inline reportAbandonment(cell) { skip }
#define ABANDONMENT_LOCALS
