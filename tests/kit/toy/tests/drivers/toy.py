def total(submitted, values):
    return {"total": submitted.total(values)}


def spread(submitted, values, scale=None):
    return {"spread": submitted.spread(values) if scale is None else submitted.spread(values, scale=scale)}


def together(submitted, values):
    return {"total": submitted.total(values), "spread": submitted.spread(values)}
