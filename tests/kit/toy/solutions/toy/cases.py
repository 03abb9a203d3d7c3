from grader.answers import case


@case("total", question="total")
def three_values(rng):
    return {"values": [1.5, -2.0, 4.0]}


@case("total", question="total")
def many_values(rng):
    return {"values": rng.normal(size=9).tolist()}


@case("total", question="total", hidden=True)
def no_values(rng):
    return {"values": []}


@case("spread", question="spread")
def spread_of_three(rng):
    return {"values": [1.5, -2.0, 4.0], "scale": 3.0}


@case("spread", question="spread", hidden=True)
def default_scale(rng):
    return {"values": rng.normal(size=5).tolist()}


@case("together", question="both")
def both_of_four(rng):
    return {"values": [3.0, 8.0, -1.0, 2.5]}
